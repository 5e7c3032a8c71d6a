import { A2AError } from '../../protocol/errors.ts'
import type { A2AAgents, AddOptions } from '../a2a-agents.ts'
import { isGuarded, sayProblem } from '../conformance.ts'
import type { RegistryFetch } from '../options.ts'
import type { RefusedEntry } from './read-catalog.ts'
import { type CatalogFinding, type CatalogLimits, walkCatalogs } from './walk-catalogs.ts'

const atOnce = 8

export interface ReadInOptions {
  readonly agents: A2AAgents
  readonly fetch: RegistryFetch
  readonly limits: CatalogLimits
  /** The tag of the catalog as it is known. */
  readonly etag?: string
}

/** What became of a catalog. */
export interface CatalogReport {
  /** The addresses of all that were read. */
  readonly catalogs: readonly string[]
  /** The ids of the agents that are listed now. */
  readonly added: readonly string[]
  /** The ids of those whose cards lay in it, and do no more. */
  readonly removed: readonly string[]
  readonly refused: readonly RefusedEntry[]
  /** Entries that are no agents. */
  readonly skipped: number
}

/** The same, with what has to be known to read it again. */
export interface CatalogReading extends Omit<CatalogReport, 'removed'> {
  readonly isUnchanged: boolean
  /** Of those that were fetched, the first one first. */
  readonly headers: readonly Headers[]
  /** The ids of those whose cards lie in it. */
  readonly inline: readonly string[]
}

/** Reads a catalog in, with those that are in it. Throws `A2AError` if the first one cannot be read. */
export async function readInCatalog(
  url: string,
  { agents, fetch, limits, etag }: ReadInOptions,
  adding: AddOptions,
): Promise<CatalogReading> {
  const catalogs: string[] = []
  const headers: Headers[] = []
  const [added, inline, refused] = [[] as string[], [] as string[], [] as RefusedEntry[]]
  let [skipped, isUnchanged] = [0, false]
  const findings = walkCatalogs(url, fetch, limits, etag)

  async function take(finding: CatalogFinding): Promise<void> {
    switch (finding.type) {
      case 'catalog':
        catalogs.push(finding.url)
        if (finding.headers) headers.push(finding.headers)
        return
      case 'unchanged':
        isUnchanged = true
        headers.push(finding.headers)
        return
      case 'skipped':
        skipped++
        return
      case 'refused':
        refused.push({ identifier: finding.identifier, problem: finding.problem })
        return
      case 'card':
        added.push((await agents.add(finding.url, adding)).id)
        return
      case 'inline':
        added.push((await agents.addInline(finding.id, finding.card, adding)).id)
        inline.push(finding.id)
    }
  }

  async function work(): Promise<void> {
    for (let next = await findings.next(); !next.done; next = await findings.next()) {
      const { value } = next
      await take(value).catch((error) => {
        const identifier = 'identifier' in value ? value.identifier : value.url
        refused.push({ identifier, problem: sayProblem(error) })
      })
    }
  }

  try {
    await fetch.check(url)
    await Promise.all(Array.from({ length: atOnce }, work))
  } catch (error) {
    if (isGuarded(error)) throw new A2AError('forbidden', `${url} is an address that this registry does not ask.`)
    const problem = `There is no catalog at ${url}: ${sayProblem(error)}.`
    throw new A2AError('invalid-agent-response', problem, { cause: error, url })
  }
  return { catalogs, added, inline, refused, skipped, isUnchanged, headers }
}

/** An origin has its catalog at a well-known place. */
export function catalogAddress(given: string | URL): string {
  const url = URL.canParse(`${given}`) ? new URL(given) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new A2AError('invalid-params', 'url: expected the address of a catalog, by http or https.')
  }
  url.hash = ''
  return url.pathname === '/' ? new URL('/.well-known/ai-catalog.json', url).href : url.href
}
