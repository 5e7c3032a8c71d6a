import { A2AError } from '../../core/protocol/errors.ts'
import type { A2AAgents, AddOptions } from '../a2a-agents.ts'
import { isGuarded, publicMessage } from '../conformance.ts'
import type { RegistryFetch } from '../options.ts'
import type { RefusedEntry } from './read-catalog.ts'
import { type CatalogItem, type CatalogLimits, walkCatalogs } from './walk-catalogs.ts'

const concurrency = 8

export interface ImportOptions {
  readonly agents: A2AAgents
  readonly fetch: RegistryFetch
  readonly limits: CatalogLimits
  /** ETag of the catalog when it was last read. */
  readonly etag?: string
}

/** The result of adding a catalog. */
export interface CatalogReport {
  /** URLs of the catalog and its nested catalogs. */
  readonly catalogs: readonly string[]
  /** Ids of the agents that are listed now. */
  readonly added: readonly string[]
  /** Ids of agents that were removed because their cards are no longer inline in the catalog. */
  readonly removed: readonly string[]
  readonly refused: readonly RefusedEntry[]
  /** Number of entries that are not agents. */
  readonly skipped: number
}

/** A report with the data that reading the catalog again requires. */
export interface CatalogImport extends Omit<CatalogReport, 'removed'> {
  readonly isUnchanged: boolean
  /** Headers of the fetched catalogs, the first one first. */
  readonly headers: readonly Headers[]
  /** Ids of agents whose cards are inline in a catalog. */
  readonly inline: readonly string[]
}

/** Adds the agents of a catalog and its nested catalogs. Throws `A2AError` if the first one cannot be read. */
export async function importCatalog(
  url: string,
  { agents, fetch, limits, etag }: ImportOptions,
  addOptions: AddOptions,
): Promise<CatalogImport> {
  const catalogs: string[] = []
  const headers: Headers[] = []
  const added: string[] = []
  const inline: string[] = []
  const refused: RefusedEntry[] = []
  let skipped = 0
  let isUnchanged = false
  const items = walkCatalogs(url, fetch, limits, etag)

  async function importItem(item: CatalogItem): Promise<void> {
    switch (item.type) {
      case 'catalog':
        catalogs.push(item.url)
        if (item.headers) headers.push(item.headers)
        return
      case 'unchanged':
        isUnchanged = true
        headers.push(item.headers)
        return
      case 'skipped':
        skipped++
        return
      case 'refused':
        refused.push({ identifier: item.identifier, problem: item.problem })
        return
      case 'card':
        added.push((await agents.add(item.url, addOptions)).id)
        return
      case 'inline':
        added.push((await agents.addInline(item.id, item.card, addOptions)).id)
        inline.push(item.id)
    }
  }

  async function worker(): Promise<void> {
    for (let next = await items.next(); !next.done; next = await items.next()) {
      const { value: item } = next
      await importItem(item).catch((error) => {
        const identifier = 'identifier' in item ? item.identifier : item.url
        refused.push({ identifier, problem: publicMessage(error) })
      })
    }
  }

  try {
    await fetch.check(url)
    await Promise.all(Array.from({ length: concurrency }, worker))
  } catch (error) {
    if (isGuarded(error)) throw new A2AError('forbidden', `${url} is an address that this registry does not call.`)
    const message = `There is no catalog at ${url}: ${publicMessage(error)}.`
    throw new A2AError('invalid-agent-response', message, { cause: error, url })
  }
  return { catalogs, added, inline, refused, skipped, isUnchanged, headers }
}

/** Resolves an origin to the well-known path of its catalog. */
export function resolveCatalogUrl(target: string | URL): string {
  const url = URL.canParse(`${target}`) ? new URL(target) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new A2AError('invalid-params', 'url: expected the http or https URL of a catalog.')
  }
  url.hash = ''
  return url.pathname === '/' ? new URL('/.well-known/ai-catalog.json', url).href : url.href
}
