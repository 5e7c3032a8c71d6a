import { withDeadline } from '../../base/abort.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Fetch } from '../../http/fetch.ts'
import { parseJson } from '../../http/json.ts'
import { readLimited } from '../../http/read-limited.ts'
import { sayProblem } from '../conformance.ts'
import { cardType, catalogType, type RefusedEntry, readCatalog } from './read-catalog.ts'

export interface CatalogLimits {
  /** How deep catalogs may lie in each other. 3 unless it is given. */
  readonly maxDepth?: number
  /** How many are read in all. 50 unless it is given. */
  readonly maxCatalogs?: number
  /** Entries of all together. 1000 unless it is given. */
  readonly maxEntries?: number
  /** Of one catalog. 4 MiB unless it is given. */
  readonly maxBytes?: number
  /** Milliseconds that one may take. 10 seconds unless it is given. */
  readonly timeout?: number
}

/** A card that a catalog, or one in it, lists; or what was refused. */
export type CatalogFinding =
  | { readonly type: 'card'; readonly identifier: string; readonly url: string }
  | { readonly type: 'inline'; readonly identifier: string; readonly id: string; readonly card: JsonObject }
  | ({ readonly type: 'refused' } & RefusedEntry)
  /** Something else than an agent, such as a server of tools. */
  | { readonly type: 'skipped'; readonly identifier: string; readonly mediaType: string }
  /** One that lies in another came without headers of its own. */
  | { readonly type: 'catalog'; readonly url: string; readonly headers?: Headers }
  /** The first one is still the one with the tag that is known. */
  | { readonly type: 'unchanged'; readonly url: string; readonly headers: Headers }

/** Walks a catalog and those in it, each once, within limits. Throws only if the first one cannot be read. */
export async function* walkCatalogs(
  start: string,
  fetch: Fetch,
  { maxDepth = 3, maxCatalogs = 50, maxEntries = 1_000, maxBytes = 2 ** 22, timeout = 10_000 }: CatalogLimits,
  etag?: string,
): AsyncGenerator<CatalogFinding> {
  const seen = new Set([start])
  const waiting: Place[] = [{ url: start, identifier: start, depth: 1 }]
  let [catalogs, left] = [0, maxEntries]
  for (const place of waiting) {
    const { url, identifier, depth, data } = place
    const refuse = (problem: string) => ({ type: 'refused', identifier, problem }) as const
    if (depth > maxDepth) {
      yield refuse(`catalogs are read up to ${maxDepth} deep`)
      continue
    }
    if (++catalogs > maxCatalogs) {
      yield refuse(`at most ${maxCatalogs} catalogs are read together`)
      return
    }
    let catalog: ReturnType<typeof readCatalog>
    let headers: Headers | undefined
    try {
      const known = place === waiting[0] ? etag : undefined
      const loaded = data ? undefined : await load(url, fetch, { maxBytes, timeout, etag: known })
      headers = loaded?.headers
      if (loaded && loaded.document === undefined) {
        yield { type: 'unchanged', url, headers: loaded.headers }
        return
      }
      catalog = readCatalog(data ?? loaded?.document, url, left)
    } catch (error) {
      if (place === waiting[0]) throw error
      yield refuse(sayProblem(error))
      continue
    }
    yield { type: 'catalog', url, ...(headers && { headers }) }
    left -= catalog.entries.length + catalog.refused.length
    for (const each of catalog.refused) yield { type: 'refused', ...each }
    for (const { identifier: name, mediaType, artifact } of catalog.entries) {
      if (mediaType === catalogType && 'url' in artifact && seen.has(artifact.url)) {
        yield { type: 'refused', identifier: name, problem: 'this catalog was met before' }
      } else if (mediaType === catalogType) {
        if ('url' in artifact) seen.add(artifact.url)
        waiting.push({ url, ...artifact, identifier: name, depth: depth + 1 })
      } else if (mediaType !== cardType) {
        yield { type: 'skipped', identifier: name, mediaType: mediaType.slice(0, 100) }
      } else if ('url' in artifact) {
        yield { type: 'card', identifier: name, url: artifact.url }
      } else {
        // Under the catalog's own address: who lists a card cannot take the name of another one.
        yield { type: 'inline', identifier: name, id: `${url}#${encodeURIComponent(name)}`, card: artifact.data }
      }
    }
  }
}

export interface CatalogOptions extends CatalogLimits {
  /** Catalogs of one owner that are read again. 100 unless it is given; 0 reads every catalog once. */
  readonly maxKept?: number
}

interface Place {
  /** From where it came, to which addresses in it are relative. */
  readonly url: string
  readonly identifier: string
  readonly depth: number
  /** Is it here already? */
  readonly data?: JsonObject
}

/** Without a document if it is still the one of that tag. */
async function load(
  url: string,
  fetch: Fetch,
  { maxBytes, timeout, etag }: LoadOptions,
): Promise<{ readonly headers: Headers; readonly document?: unknown }> {
  const late = () => new Error(`there was no catalog within ${timeout / 1000} seconds`)
  const { signal, release } = withDeadline(new AbortController().signal, timeout, late)
  try {
    const asked = { accept: `${catalogType}, application/json`, ...(etag !== undefined && { 'if-none-match': etag }) }
    const response = await fetch(url, { method: 'GET', headers: asked, signal })
    const { headers } = response
    if (response.status === 304 && etag !== undefined) {
      await response.body?.cancel()
      return { headers }
    }
    if (!response.ok) {
      await response.body?.cancel()
      throw new Error(`${url} answered ${response.status}`)
    }
    return { headers, document: parseJson(await readLimited(response.body, maxBytes)) }
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    release()
  }
}

interface LoadOptions {
  readonly maxBytes: number
  readonly timeout: number
  readonly etag: string | undefined
}
