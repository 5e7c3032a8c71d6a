import { withDeadline } from '../../core/base/abort.ts'
import { defined, type JsonObject } from '../../core/base/json.ts'
import type { Fetch } from '../../core/http/fetch.ts'
import { parseJson } from '../../core/http/json.ts'
import { readLimited } from '../../core/http/read-limited.ts'
import { publicMessage } from '../conformance.ts'
import {
  type Catalog,
  type CatalogEntry,
  cardType,
  catalogType,
  type RefusedEntry,
  readCatalog,
} from './read-catalog.ts'

/** The `catalogs` option of a registry: how AI catalogs are read. */
export interface CatalogOptions extends CatalogLimits {
  /** Maximum number of catalogs per owner that are read again. Defaults to 100; 0 reads every catalog only once. */
  readonly maxKept?: number
}

export interface CatalogLimits {
  /** Maximum depth of nested catalogs. Defaults to 3. */
  readonly maxDepth?: number
  /** Maximum number of catalogs in total. Defaults to 50. */
  readonly maxCatalogs?: number
  /** Maximum number of entries in all catalogs. Defaults to 1000. */
  readonly maxEntries?: number
  /** Maximum size of one catalog in bytes. Defaults to 4 MiB. */
  readonly maxBytes?: number
  /** Timeout for one catalog, in milliseconds. Defaults to 10 seconds. */
  readonly timeout?: number
}

type ListedAgent = Pick<CatalogEntry, 'identifier' | 'displayName' | 'tags'>

export type CatalogItem =
  | ({ readonly type: 'card'; readonly url: string } & ListedAgent)
  | ({ readonly type: 'inline'; readonly id: string; readonly card: JsonObject } & ListedAgent)
  /** `isUnread`: a nested catalog that could not be read, perhaps only this time. */
  | ({ readonly type: 'refused'; readonly isUnread?: boolean } & RefusedEntry)
  /** An artifact other than an agent or a catalog, such as an MCP server. */
  | { readonly type: 'skipped'; readonly identifier: string; readonly mediaType: string }
  /** A catalog that is inline in another one has no headers. */
  | { readonly type: 'catalog'; readonly url: string; readonly headers?: Headers }
  /** The first catalog still has the given ETag. */
  | { readonly type: 'unchanged'; readonly url: string; readonly headers: Headers }

/** Reads a catalog and its nested catalogs, each once, within limits. Throws only if the first one cannot be read. */
export async function* walkCatalogs(
  start: string,
  fetch: Fetch,
  { maxDepth = 3, maxCatalogs = 50, maxEntries = 1_000, maxBytes = 2 ** 22, timeout = 10_000 }: CatalogLimits,
  etag?: string,
): AsyncGenerator<CatalogItem> {
  const seen = new Set([start])
  const pending: PendingCatalog[] = [{ url: start, identifier: start, depth: 1 }]
  let catalogCount = 0
  let entriesLeft = maxEntries
  for (const next of pending) {
    const { url, identifier, depth, data } = next
    const isFirst = next === pending[0]
    const refuse = (problem: string) => ({ type: 'refused', identifier, problem }) as const
    if (depth > maxDepth) {
      yield refuse(`catalogs are read up to ${maxDepth} levels deep`)
      continue
    }
    if (++catalogCount > maxCatalogs) {
      yield refuse(`at most ${maxCatalogs} catalogs are read together`)
      return
    }
    let catalog: Catalog
    let headers: Headers | undefined
    try {
      const response = data
        ? undefined
        : await fetchCatalog(url, fetch, { maxBytes, timeout, etag: isFirst ? etag : undefined })
      headers = response?.headers
      if (response && response.document === undefined) {
        yield { type: 'unchanged', url, headers: response.headers }
        return
      }
      catalog = readCatalog(data ?? response?.document, url, entriesLeft)
    } catch (error) {
      if (isFirst) throw error
      yield { ...refuse(publicMessage(error)), isUnread: true }
      continue
    }
    yield defined({ type: 'catalog', url, headers })
    entriesLeft -= catalog.entries.length + catalog.refused.length
    for (const refused of catalog.refused) yield { type: 'refused', ...refused }
    for (const entry of catalog.entries) {
      if (entry.mediaType !== catalogType) {
        yield itemOf(entry, url)
        continue
      }
      const { identifier: nested, artifact } = entry
      if ('url' in artifact && seen.has(artifact.url)) {
        yield { type: 'refused', identifier: nested, problem: 'this catalog was read before' }
        continue
      }
      if ('url' in artifact) seen.add(artifact.url)
      pending.push({ url, ...artifact, identifier: nested, depth: depth + 1 })
    }
  }
}

interface PendingCatalog {
  /** The URL that it comes from, and that relative URLs in it are resolved against. */
  readonly url: string
  readonly identifier: string
  readonly depth: number
  /** The document, if it is inline in another catalog. */
  readonly data?: JsonObject
}

function itemOf({ identifier, displayName, tags, mediaType, artifact }: CatalogEntry, catalogUrl: string): CatalogItem {
  if (mediaType !== cardType) return { type: 'skipped', identifier, mediaType: mediaType.slice(0, 100) }
  const listed = { identifier, displayName, tags }
  if ('url' in artifact) return { type: 'card', ...listed, url: artifact.url }
  // The id starts with the catalog's own URL, so that a catalog cannot take the id of an agent that it does not host.
  return { type: 'inline', ...listed, id: `${catalogUrl}#${encodeURIComponent(identifier)}`, card: artifact.data }
}

interface FetchOptions {
  readonly maxBytes: number
  readonly timeout: number
  readonly etag: string | undefined
}

/** Returns no document if the catalog still has the given ETag. */
async function fetchCatalog(
  url: string,
  fetch: Fetch,
  { maxBytes, timeout, etag }: FetchOptions,
): Promise<{ readonly headers: Headers; readonly document?: unknown }> {
  const timeoutError = () => new Error(`the catalog did not arrive within ${timeout / 1000} seconds`)
  const { signal, release } = withDeadline(new AbortController().signal, timeout, timeoutError)
  try {
    const accept = `${catalogType}, application/json`
    const requestHeaders = defined({ accept, 'if-none-match': etag })
    const response = await fetch(url, { method: 'GET', headers: requestHeaders, signal })
    const { headers } = response
    if (response.status === 304 && etag !== undefined) {
      await response.body?.cancel()
      return { headers }
    }
    if (!response.ok) {
      await response.body?.cancel()
      throw new Error(`${url} responded with ${response.status}`)
    }
    return { headers, document: parseJson(await readLimited(response.body, maxBytes)) }
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    release()
  }
}
