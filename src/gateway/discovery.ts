import { sha256, toHex } from '../core/base/hash.ts'
import { defined, isList, isObject, type JsonObject } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import { readPeerCard } from '../core/dialects/peer-card.ts'
import { isThisMachine } from '../core/http/address-guard.ts'
import type { Fetch } from '../core/http/fetch.ts'
import { parseJson } from '../core/http/json.ts'
import { readLimited } from '../core/http/read-limited.ts'
import { createGuardedFetch } from '../core/node/guarded-fetch/guarded-fetch.ts'
import { resolveCatalogUrl } from '../registry/catalog/import-catalog.ts'
import { walkCatalogs } from '../registry/catalog/walk-catalogs.ts'
import type { FromFilter, FromOptions, NamedUpstream, UpstreamOptions } from './options.ts'
import { isAmong } from './rules.ts'

/** Bytes of one answer of a registry. */
const maxAnswer = 4 * 2 ** 20

/** Milliseconds in which a registry must answer one request. */
const answerWithin = 10_000

/** Pages of a registry that are read, of 100 agents each. */
const maxPages = 50

/** An agent as a catalog or a registry lists it. */
interface Listed {
  readonly identifier: string
  readonly displayName: string
  readonly tags: readonly string[]
  readonly card: string | JsonObject
}

/** A catalog or registry whose agents are behind the gateway. */
export interface Source {
  readonly options: FromOptions
  readonly url: string
  /** The agents that it lists now. Those of the last time while it cannot be read. */
  agents(): readonly NamedUpstream[]
  /** Why it could not be read. */
  failure(): string | undefined
  /** Reads it again. Resolves with whether its agents have changed; never rejects. */
  refresh(): Promise<boolean>
  close(): void
}

/**
 * Reads a catalog or registry. What it lists is foreign: an address of it must be public or in `allow`, unless it has the
 * origin of the catalog itself.
 */
export function createSource(options: FromOptions, logger: Logger): Source {
  const { catalog, registry, filter = {}, limit = 100, options: shared = {} } = options
  const url = catalog === undefined ? `${registry}`.replace(/\/+$/, '') : resolveCatalogUrl(catalog)
  const { origin, hostname } = new URL(url)
  const { allow = [] } = shared
  const foreign = createGuardedFetch({ allow, redirects: 0 })
  const isLocal = isThisMachine(new URL(url))
  const own = createGuardedFetch({
    loopback: isLocal ? 'allow' : 'refuse',
    allow: isLocal ? allow : [hostname.replace(/^\[|\]$/g, ''), ...allow],
    redirects: 0,
  })
  const isOwn = (target: string) => new URL(target).origin === origin
  const fetch: Fetch = (target, init) => (isOwn(`${target}`) ? own : foreign)(target, init)
  let agents: readonly NamedUpstream[] = []
  let failure: string | undefined
  let refreshing: Promise<boolean> | undefined

  async function upstreamOf({ identifier, card }: Listed): Promise<NamedUpstream | undefined> {
    const target = typeof card === 'string' ? card : (await readPeerCard(card)).card.interfaces[0]?.url
    if (target === undefined || !URL.canParse(target)) return undefined
    if (filter.host !== undefined && !isAmong(filter.host, new URL(target).hostname)) return undefined
    const name = nameOf(identifier)
    const where: UpstreamOptions = typeof card === 'string' ? { card } : { url: target, card }
    return { name, path: `/${name}`, options: { ...shared, ...where }, source: url, isForeign: !isOwn(target) }
  }

  async function read(): Promise<boolean> {
    const listed = catalog === undefined ? readRegistry(url, filter, fetch) : readCatalogs(url, fetch)
    const found = new Map<string, NamedUpstream>()
    for await (const each of listed) {
      if (!isAmong(filter.name, each.displayName)) continue
      if (catalog !== undefined && !listOfTexts(filter.tag).every((tag) => each.tags.includes(tag))) continue
      const upstream = await upstreamOf(each).catch(() => undefined)
      if (!upstream || found.has(upstream.name)) continue
      if (found.size === limit) {
        logger.warn({ source: url, limit }, 'a catalog lists more agents than the gateway takes from it')
        break
      }
      found.set(upstream.name, upstream)
    }
    failure = undefined
    const next = [...found.values()]
    const isChanged = JSON.stringify(next.map(identityOf)) !== JSON.stringify(agents.map(identityOf))
    agents = next
    return isChanged
  }

  return {
    options,
    url,
    agents: () => agents,
    failure: () => failure,
    refresh() {
      refreshing ??= read()
        .catch((error: unknown) => {
          const reason = error instanceof Error ? error.message : `${error}`
          if (reason !== failure) logger.warn({ source: url, reason }, 'a catalog of agents cannot be read')
          failure = reason
          return false
        })
        .finally(() => {
          refreshing = undefined
        })
      return refreshing
    },
    close() {
      own.close()
      foreign.close()
    },
  }
}

async function* readCatalogs(url: string, fetch: Fetch): AsyncGenerator<Listed> {
  for await (const item of walkCatalogs(url, fetch, {})) {
    // Its agents may be there all the same.
    if (item.type === 'refused' && item.isUnread)
      throw new Error(`the nested catalog ${item.identifier}: ${item.problem}`)
    if (item.type !== 'card' && item.type !== 'inline') continue
    const { identifier, displayName, tags } = item
    yield { identifier, displayName, tags, card: item.type === 'card' ? item.url : item.card }
  }
}

/** Searches a registry, page by page. */
async function* readRegistry(url: string, filter: FromFilter, fetch: Fetch): AsyncGenerator<Listed> {
  const query = new URLSearchParams({ kind: 'a2a' })
  for (const name of ['tag', 'skill', 'capability'] as const) {
    for (const value of listOfTexts(filter[name])) query.append(name, value)
  }
  if (filter.text !== undefined) query.set('text', filter.text)
  for (let page = 0; page < maxPages; page++) {
    const { agents, nextCursor } = await readJson(`${url}/agents?${query}`, fetch)
    if (!isList(agents)) throw new Error(`${url}/agents is no registry: expected agents as a list`)
    for (const entry of agents.filter(isObject)) {
      const { id, name, cardUrl } = entry
      if (typeof id !== 'string' || typeof name !== 'string') continue
      const isLinked = typeof cardUrl === 'string'
      const card = isLinked ? cardUrl : (await readJson(`${url}/agents/${encodeURIComponent(id)}`, fetch)).card
      if (typeof card === 'string' || isObject(card)) yield { identifier: id, displayName: name, tags: [], card }
    }
    if (typeof nextCursor !== 'string') return
    query.set('cursor', nextCursor)
  }
}

async function readJson(url: string, fetch: Fetch): Promise<JsonObject> {
  const response = await fetch(url, { method: 'GET', signal: AbortSignal.timeout(answerWithin) })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`${new URL(url).origin} responded with ${response.status}`)
  }
  const value = parseJson(await readLimited(response.body, maxAnswer))
  if (!isObject(value)) throw new Error(`${new URL(url).origin} sent no JSON object`)
  return value
}

/**
 * The name of a listed agent, which is always the same for the same identifier: `urn:a2a:prices` is `prices`, and
 * `https://example.com/prices/.well-known/agent-card.json` is `example.com-prices`.
 */
function nameOf(identifier: string): string {
  const plain = identifier
    .replace(/^urn:[^:]*:|^[a-z][a-z0-9+.-]*:\/\//i, '')
    .replace(/\/\.well-known\/agent(-card)?\.json$/, '')
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
  if (plain.length > 0 && plain.length <= 64) return plain
  return `${plain.slice(0, 50)}${plain === '' ? 'agent' : ''}-${toHex(sha256(identifier)).slice(0, 8)}`
}

/** The members that tell whether a listed agent has changed. */
function identityOf({ name, options: { url, card } }: NamedUpstream) {
  return defined({ name, url, card })
}

function listOfTexts(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value
}
