import { type AuthOptions, createAuth } from '../../core/auth/auth.ts'
import { isObject } from '../../core/base/json.ts'
import { consoleLogger, type Logger } from '../../core/base/logger.ts'
import {
  aFunction,
  anObject,
  anyOf,
  checkOptions,
  flag,
  group,
  integer,
  loggerCheck,
  milliseconds,
  type OptionChecks,
  oneOf,
  text,
} from '../../core/base/options.ts'
import type { Exchange, Incoming, Outgoing } from '../../core/http/exchange.ts'
import { createHostCheck } from '../../core/http/host-check.ts'
import { isJson, parseJson } from '../../core/http/json.ts'
import { isForwarded } from '../../core/http/origin.ts'
import { matchesEtag } from '../../core/http/response-headers.ts'
import { A2AError, loggedError, StoreUnavailable } from '../../core/protocol/errors.ts'
import { anonymous, ownerOf } from '../../core/protocol/model.ts'
import { catalogType } from '../catalog/read-catalog.ts'
import { type CatalogHost, catalogText } from '../catalog/write-catalog.ts'
import type { RegistryEntry } from '../entry.ts'
import type { Registry } from '../registry.ts'
import type { SearchQuery } from '../search.ts'
import { errorResponse, jsonResponse, taggedResponse, toErrorResponse } from './answers.ts'
import { createChangeStream } from './change-stream.ts'

const maxBodyBytes = 2 ** 14

/**
 * Which callers may add agents, and remove their own. `local`: callers that address this machine by a loopback name and
 * without a proxy; use it only for servers that listen on a loopback address. `none`: every caller.
 */
export type RegistryAuth = AuthOptions | 'none' | 'local'

/** Options of `createRegistryExchange`. */
export interface RegistryExchangeOptions {
  /** Which callers may add agents and remove their own. Defaults to none. Every caller may read. */
  readonly auth?: RegistryAuth
  /**
   * Accepts envelopes only as `local` accepts changes. Set it where the server listens on a loopback address, and
   * envelopes need no signature, or that of any key. Defaults to false.
   */
  readonly isMeshLocal?: boolean
  /** Whether a caller, such as an administrator, may change an entry of another owner. `owner` is the caller, as `ownerOf` returns it. */
  readonly mayChange?: (owner: string, entry: RegistryEntry) => boolean | Promise<boolean>
  /** The publisher of the catalog. */
  readonly host?: CatalogHost
  /** Maximum number of agents and catalogs that are read for callers concurrently. Defaults to 16. */
  readonly maxReading?: number
  /** Maximum number of concurrent streams of changes. Defaults to 1000. */
  readonly maxFollowers?: number
  /** Interval of comments in an idle stream, in milliseconds. Defaults to 15 seconds. */
  readonly heartbeat?: number
  readonly logger?: Logger
}

const optionChecks: OptionChecks<RegistryExchangeOptions> = {
  auth: anyOf("'none', 'local' or { schemes }", oneOf('none', 'local'), anObject),
  isMeshLocal: flag,
  mayChange: aFunction,
  host: group<CatalogHost>({ displayName: text, identifier: text, documentationUrl: text, logoUrl: text }),
  maxReading: integer({ min: 1 }),
  maxFollowers: integer(),
  heartbeat: milliseconds({ min: 1 }),
  logger: loggerCheck,
}

/**
 * Serves a registry over HTTP: `/agents`, `/agents/<id>`, `/catalogs`, `/changes`, `/.well-known/ai-catalog.json`, and
 * `/mesh` for envelopes.
 */
export function createRegistryExchange(registry: Registry, options: RegistryExchangeOptions = {}): Exchange {
  checkOptions('createRegistryExchange', options, optionChecks)
  return openRegistryExchange(registry, options)
}

/** Creates the exchange from options that were checked, among others. */
export function openRegistryExchange(registry: Registry, options: RegistryExchangeOptions): Exchange {
  const { mayChange, maxReading = 16, maxFollowers = 1_000, heartbeat = 15_000, logger = consoleLogger } = options
  const authenticate = createAuthentication(options.auth, logger)
  const changes = createChangeStream(registry, { maxFollowers, heartbeat })
  const limitReads = createReadLimit(authenticate, maxReading)

  async function list(incoming: Incoming): Promise<Outgoing> {
    const { queryTimeMs, ...page } = await registry.search(readQuery(new URLSearchParams(incoming.query)))
    return taggedResponse(incoming, page, { 'server-timing': `query;dur=${queryTimeMs.toFixed(3)}` })
  }

  async function show(incoming: Incoming, id: string): Promise<Outgoing> {
    const entry = await registry.get(id)
    if (!entry) return errorResponse(404, 'No agent is registered under this id.')
    return taggedResponse(incoming, { ...registry.describe(entry), card: entry.card })
  }

  async function remove(incoming: Incoming, id: string): Promise<Outgoing> {
    const owner = await authenticate(incoming)
    const entry = await registry.get(id)
    if (!entry) return errorResponse(404, 'No agent is registered under this id.')
    if (entry.owner !== owner && !(await mayChange?.(owner, entry))) {
      return errorResponse(403, 'This entry belongs to another owner.')
    }
    await registry.remove(id)
    return { status: 204, headers: {} }
  }

  const add = (incoming: Incoming) =>
    limitReads(incoming, async (url, owner) => {
      const agent = await registry.add(url, { owner })
      return jsonResponse(201, agent, { location: `${incoming.base}/agents/${encodeURIComponent(agent.id)}` })
    })

  const addCatalog = (incoming: Incoming) =>
    limitReads(incoming, async (url, owner) => jsonResponse(200, await registry.addCatalog(url, { owner })))

  /** Does not reveal owners. */
  async function listCatalogs(incoming: Incoming): Promise<Outgoing> {
    const catalogs = (await registry.catalogs()).map(({ url, readAt, due, failures }) => ({
      url,
      readAt: new Date(readAt).toISOString(),
      nextAt: new Date(due).toISOString(),
      failures,
    }))
    return taggedResponse(incoming, { catalogs })
  }

  async function removeCatalog(incoming: Incoming, url: string): Promise<Outgoing> {
    const owner = await authenticate(incoming)
    const catalog = (await registry.catalogs()).find((candidate) => candidate.url === url)
    if (!catalog) return errorResponse(404, 'No catalog is registered under this URL.')
    if (catalog.owner !== owner) return errorResponse(403, 'This catalog belongs to another owner.')
    await registry.removeCatalog(url)
    return { status: 204, headers: {} }
  }

  async function publishCatalog(incoming: Incoming): Promise<Outgoing> {
    const { latest } = await registry.entries.changes(0, 1)
    const headers = { etag: `W/"${latest}"`, 'cache-control': 'public, max-age=60' }
    if (matchesEtag(incoming.header('if-none-match'), headers.etag)) return { status: 304, headers }
    const body = catalogText(registry.entries, options.host)
    return { status: 200, headers: { 'content-type': catalogType, ...headers }, body }
  }

  async function route(incoming: Incoming): Promise<Outgoing> {
    const method = incoming.method === 'HEAD' ? 'GET' : incoming.method
    const { path } = incoming
    const agent = /^\/agents\/([^/]+)$/.exec(path)?.[1]
    if (agent !== undefined) {
      const id = decodePath(agent)
      return await dispatch(method, { GET: () => show(incoming, id), DELETE: () => remove(incoming, id) })
    }
    const catalogUrl = /^\/catalogs\/([^/]+)$/.exec(path)?.[1]
    if (catalogUrl !== undefined) {
      return await dispatch(method, { DELETE: () => removeCatalog(incoming, decodePath(catalogUrl)) })
    }
    switch (path) {
      case '/agents':
        return await dispatch(method, { GET: () => list(incoming), POST: () => add(incoming) })
      case '/catalogs':
        return await dispatch(method, { GET: () => listCatalogs(incoming), POST: () => addCatalog(incoming) })
      case '/changes':
        return await dispatch(method, { GET: () => changes(incoming) })
      case '/.well-known/ai-catalog.json':
        return await dispatch(method, { GET: () => publishCatalog(incoming) })
      case '/mesh':
        if (options.isMeshLocal && !isLocal(incoming)) throw notLocal()
        if (registry.hasMesh) return await registry.peer.exchange(incoming)
    }
    return errorResponse(
      404,
      'Not found. A registry has /agents, /catalogs, /changes and /.well-known/ai-catalog.json.',
    )
  }

  return async (incoming) => {
    try {
      return await route(incoming)
    } catch (error) {
      if (error instanceof StoreUnavailable) logger.error({ error: loggedError(error) }, 'the registry cannot be used')
      return toErrorResponse(error)
    }
  }
}

/** Returns the owner that the caller acts for. Throws `A2AError` if the caller may not make changes. */
type Authenticate = (incoming: Incoming) => Promise<string>

/** Authenticates callers that name a URL to be read, and limits how many URLs are read for them concurrently. */
function createReadLimit(authenticate: Authenticate, maxReading: number) {
  let reads = 0
  return async (incoming: Incoming, work: (url: string, owner: string) => Promise<Outgoing>): Promise<Outgoing> => {
    const owner = await authenticate(incoming)
    const url = await readUrl(incoming)
    if (reads >= maxReading) {
      return errorResponse(503, 'Too many agents and catalogs are being read at the moment.', { 'retry-after': '1' })
    }
    reads++
    try {
      return await work(url, owner)
    } finally {
      reads--
    }
  }
}

function createAuthentication(choice: RegistryAuth | undefined, logger: Logger): Authenticate {
  const anonymousOwner = ownerOf(anonymous)
  if (choice === undefined) {
    return async () => {
      throw new A2AError('forbidden', 'This registry accepts no changes over HTTP: its operator has not set auth.')
    }
  }
  if (choice === 'none') return async () => anonymousOwner
  if (choice === 'local') {
    return async (incoming) => {
      if (isLocal(incoming)) return anonymousOwner
      throw notLocal()
    }
  }
  const auth = createAuth(choice, { realm: 'registry', logger })
  return async (incoming) => ownerOf(await auth.authenticate(incoming))
}

function notLocal(): A2AError {
  return new A2AError('forbidden', 'This registry accepts changes only from this machine.')
}

const hostCheck = createHostCheck({ hosts: [] })

/** Web pages can reach this machine too, and a proxy on this machine forwards requests of others. */
export function isLocal(incoming: Incoming): boolean {
  return !isForwarded(incoming) && incoming.header('host') !== undefined && hostCheck?.(incoming) === undefined
}

function readQuery(parameters: URLSearchParams): SearchQuery {
  const names = ['skill', 'tag', 'capability', 'text', 'kind', 'status', 'limit', 'cursor']
  const unknown = [...parameters.keys()].find((name) => !names.includes(name))
  if (unknown !== undefined) {
    throw new A2AError('invalid-params', `${unknown.slice(0, 50)} is not a parameter: expected ${names.join(', ')}.`)
  }
  const lists = ['skill', 'tag', 'capability'].map((name) => [name, parameters.getAll(name)])
  const texts = ['text', 'kind', 'status', 'cursor'].flatMap((name) =>
    parameters.has(name) ? [[name, parameters.get(name)]] : [],
  )
  const limit = parameters.get('limit')
  const page = limit === null ? {} : { limit: /^\d+$/.test(limit) ? Number(limit) : Number.NaN }
  return { ...Object.fromEntries([...lists, ...texts]), ...page }
}

/** Throws `A2AError`. */
async function readUrl(incoming: Incoming): Promise<string> {
  if (!isJson(incoming.header('content-type'))) {
    throw new A2AError('invalid-params', 'Expected a body of type application/json, such as {"url":"https://…"}.')
  }
  const bytes = await incoming.bytes(maxBodyBytes)
  let body: unknown
  try {
    body = parseJson(bytes)
  } catch (error) {
    throw new A2AError('invalid-params', `The body is not JSON: ${error instanceof Error ? error.message : error}.`)
  }
  if (!isObject(body) || typeof body.url !== 'string') {
    throw new A2AError('invalid-params', 'url: expected a URL, as in {"url":"https://agent.example.com"}.')
  }
  return body.url
}

function decodePath(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

async function dispatch(method: string, routes: Readonly<Record<string, () => Promise<Outgoing>>>): Promise<Outgoing> {
  const handle = Object.hasOwn(routes, method) ? routes[method] : undefined
  if (handle) return await handle()
  const allow = Object.keys(routes).join(', ')
  return errorResponse(405, `Expected ${allow}, got ${method.slice(0, 20)}.`, { allow })
}
