import { A2AError } from '../../protocol/errors.ts'
import type { A2AAgents, AddOptions } from '../a2a-agents.ts'
import type { RegistryFetch } from '../options.ts'
import { isGuarded, sayProblem } from '../problem.ts'
import type { RefusedEntry } from './read-catalog.ts'
import { type CatalogFinding, type CatalogLimits, walkCatalogs } from './walk-catalogs.ts'

/** What became of a catalog. */
export interface CatalogReport {
  /** The addresses of all that were read. */
  readonly catalogs: readonly string[]
  /** The ids of the agents that are listed now. */
  readonly added: readonly string[]
  readonly refused: readonly RefusedEntry[]
  /** Entries that are no agents. */
  readonly skipped: number
}

const atOnce = 8

/** Reads a catalog in, with those that are in it. Throws `A2AError` if the first one cannot be read. */
export async function addCatalog(
  given: string | URL,
  { agents, fetch, limits = {} }: { agents: A2AAgents; fetch: RegistryFetch; limits?: CatalogLimits },
  options: AddOptions = {},
): Promise<CatalogReport> {
  const url = addressOf(given)
  const report = { catalogs: [] as string[], added: [] as string[], refused: [] as RefusedEntry[], skipped: 0 }
  const findings = walkCatalogs(url, fetch, limits)

  async function take(finding: CatalogFinding): Promise<void> {
    switch (finding.type) {
      case 'catalog':
        report.catalogs.push(finding.url)
        return
      case 'skipped':
        report.skipped++
        return
      case 'refused':
        report.refused.push({ identifier: finding.identifier, problem: finding.problem })
        return
      case 'card':
        report.added.push((await agents.add(finding.url, options)).id)
        return
      case 'inline':
        report.added.push((await agents.addInline(finding.id, finding.card, options)).id)
    }
  }

  async function work(): Promise<void> {
    for (let next = await findings.next(); !next.done; next = await findings.next()) {
      const { value } = next
      await take(value).catch((error) => {
        const identifier = 'identifier' in value ? value.identifier : value.url
        report.refused.push({ identifier, problem: sayProblem(error) })
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
  return report
}

/** An origin has its catalog at a well-known place. */
function addressOf(given: string | URL): string {
  const url = URL.canParse(`${given}`) ? new URL(given) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new A2AError('invalid-params', 'url: expected the address of a catalog, by http or https.')
  }
  url.hash = ''
  return url.pathname === '/' ? new URL('/.well-known/ai-catalog.json', url).href : url.href
}
