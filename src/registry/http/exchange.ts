import { type AuthOptions, createAuth } from '../../auth/auth.ts'
import { isObject } from '../../base/json.ts'
import { consoleLogger, type Logger } from '../../base/logger.ts'
import type { Exchange, Incoming, Outgoing } from '../../http/exchange.ts'
import { isJson, parseJson } from '../../http/json.ts'
import { isLoopback } from '../../http/origin.ts'
import { matches } from '../../http/response-headers.ts'
import { A2AError } from '../../protocol/errors.ts'
import { anonymous } from '../../protocol/model.ts'
import { ownerOf } from '../../protocol/principal.ts'
import { catalogType } from '../catalog/read-catalog.ts'
import { type CatalogHost, catalogText } from '../catalog/write-catalog.ts'
import type { RegistryEntry } from '../entry.ts'
import type { Registry } from '../registry.ts'
import type { SearchQuery } from '../search.ts'
import { jsonAnswer, problem, refusal, taggedAnswer } from './answers.ts'
import { createChangeStream } from './change-stream.ts'

const maxBody = 2 ** 14

/**
 * Who may add agents, and remove their own. `local`: whoever calls this machine by a name of its own, and through no
 * proxy; only for servers that listen on a loopback address. `none`: everybody.
 */
export type RegistryAuth = AuthOptions | 'none' | 'local'

export interface RegistryExchangeOptions {
  /** Who may add agents and remove their own. Nobody unless it is given; everybody may read. */
  readonly auth?: RegistryAuth
  /** Whether somebody may change an entry that is not its own, such as an administrator. `owner` is as `ownerOf` says. */
  readonly mayChange?: (owner: string, entry: RegistryEntry) => boolean | Promise<boolean>
  /** Who publishes the catalog. */
  readonly host?: CatalogHost
  /** Agents and catalogs that are read for callers at the same time. 16 unless it is given. */
  readonly maxReading?: number
  /** Readers of changes at the same time. 1000 unless it is given. */
  readonly maxFollowers?: number
  /** Milliseconds of silence after which a stream gives a sign of life. 15 seconds unless it is given. */
  readonly heartbeat?: number
  readonly logger?: Logger
}

/**
 * A registry over HTTP: `/agents`, `/agents/<id>`, `/catalogs`, `/changes`, `/.well-known/ai-catalog.json`, and `/mesh`
 * for envelopes.
 */
export function createRegistryExchange(registry: Registry, options: RegistryExchangeOptions = {}): Exchange {
  const { mayChange, maxReading = 16, maxFollowers = 1_000, heartbeat = 15_000, logger = consoleLogger } = options
  const admit = createAdmission(options.auth, logger)
  const changes = createChangeStream(registry, { maxFollowers, heartbeat })
  let reading = 0

  async function list(incoming: Incoming): Promise<Outgoing> {
    const { queryTimeMs, ...page } = await registry.search(queryOf(new URLSearchParams(incoming.query)))
    return taggedAnswer(incoming, page, { 'server-timing': `query;dur=${queryTimeMs.toFixed(3)}` })
  }

  async function show(incoming: Incoming, id: string): Promise<Outgoing> {
    const entry = await registry.get(id)
    if (!entry) return problem(404, 'No agent is registered under this id.')
    return taggedAnswer(incoming, { ...registry.describe(entry), card: entry.card })
  }

  async function remove(incoming: Incoming, id: string): Promise<Outgoing> {
    const owner = await admit(incoming)
    const entry = await registry.get(id)
    if (!entry) return problem(404, 'No agent is registered under this id.')
    if (entry.owner !== owner && !(await mayChange?.(owner, entry))) {
      return problem(403, 'This entry belongs to somebody else.')
    }
    await registry.remove(id)
    return { status: 204, headers: {} }
  }

  /** What has to be asked elsewhere, so many at a time. */
  async function read(incoming: Incoming, work: (url: string, owner: string) => Promise<Outgoing>): Promise<Outgoing> {
    const owner = await admit(incoming)
    const url = await urlIn(incoming)
    if (reading >= maxReading) return problem(503, 'Too many agents are being read.', { 'retry-after': '1' })
    reading++
    try {
      return await work(url, owner)
    } finally {
      reading--
    }
  }

  const add = (incoming: Incoming) =>
    read(incoming, async (url, owner) => {
      const agent = await registry.add(url, { owner })
      return jsonAnswer(201, agent, { location: `${incoming.base}/agents/${encodeURIComponent(agent.id)}` })
    })

  const addCatalog = (incoming: Incoming) =>
    read(incoming, async (url, owner) => jsonAnswer(200, await registry.addCatalog(url, { owner })))

  /** Whose they are, and how they are asked for, is nobody else's business. */
  async function listCatalogs(incoming: Incoming): Promise<Outgoing> {
    const catalogs = (await registry.catalogs()).map(({ url, readAt, due, failures }) => ({
      url,
      readAt: new Date(readAt).toISOString(),
      nextAt: new Date(due).toISOString(),
      failures,
    }))
    return taggedAnswer(incoming, { catalogs })
  }

  async function removeCatalog(incoming: Incoming, url: string): Promise<Outgoing> {
    const owner = await admit(incoming)
    const kept = (await registry.catalogs()).find((each) => each.url === url)
    if (!kept) return problem(404, 'No catalog of this address is read here.')
    if (kept.owner !== owner) return problem(403, 'This catalog belongs to somebody else.')
    await registry.removeCatalog(url)
    return { status: 204, headers: {} }
  }

  async function catalog(incoming: Incoming): Promise<Outgoing> {
    const { latest } = await registry.entries.changes(0, 1)
    const about = { etag: `W/"${latest}"`, 'cache-control': 'public, max-age=60' }
    if (matches(incoming.header('if-none-match'), about.etag)) return { status: 304, headers: about }
    const body = catalogText(registry.entries, options.host)
    return { status: 200, headers: { 'content-type': catalogType, ...about }, body }
  }

  async function route(incoming: Incoming): Promise<Outgoing> {
    const method = incoming.method === 'HEAD' ? 'GET' : incoming.method
    const { path } = incoming
    const agent = /^\/agents\/([^/]+)$/.exec(path)?.[1]
    if (agent !== undefined) {
      const id = decoded(agent)
      return await on(method, { GET: () => show(incoming, id), DELETE: () => remove(incoming, id) })
    }
    const catalogUrl = /^\/catalogs\/([^/]+)$/.exec(path)?.[1]
    if (catalogUrl !== undefined) {
      return await on(method, { DELETE: () => removeCatalog(incoming, decoded(catalogUrl)) })
    }
    switch (path) {
      case '/agents':
        return await on(method, { GET: () => list(incoming), POST: () => add(incoming) })
      case '/catalogs':
        return await on(method, { GET: () => listCatalogs(incoming), POST: () => addCatalog(incoming) })
      case '/changes':
        return await on(method, { GET: () => changes(incoming) })
      case '/.well-known/ai-catalog.json':
        return await on(method, { GET: () => catalog(incoming) })
      case '/mesh':
        if (registry.hasMesh) return await registry.peer.exchange(incoming)
    }
    return problem(404, 'There is nothing here. A registry has /agents, /catalogs, /changes and its catalog.')
  }

  return async (incoming) => {
    try {
      return await route(incoming)
    } catch (error) {
      return refusal(error)
    }
  }
}

/** By whom a change is made. Throws `A2AError`. */
export type Admit = (incoming: Incoming) => Promise<string>

function createAdmission(choice: RegistryAuth | undefined, logger: Logger): Admit {
  const everybody = ownerOf(anonymous)
  if (choice === undefined) {
    return async () => {
      throw new A2AError('forbidden', 'This registry takes no changes by HTTP: its operator has not said from whom.')
    }
  }
  if (choice === 'none') return async () => everybody
  if (choice === 'local') {
    return async (incoming) => {
      if (isLocal(incoming)) return everybody
      throw new A2AError('forbidden', 'This registry takes changes only from this machine.')
    }
  }
  const auth = createAuth(choice, { realm: 'registry', logger })
  return async (incoming) => ownerOf(await auth.principalOf(incoming))
}

/** A page of another origin may have this machine asked by a name that leads here; then it is the name that tells. */
function isLocal({ header }: Incoming): boolean {
  const host = header('host') ?? ''
  const isForwarded = ['forwarded', 'x-forwarded-for', 'x-forwarded-host'].some((name) => header(name) !== undefined)
  const url = `http://${host}`
  return !isForwarded && URL.canParse(url) && isLoopback(new URL(url).hostname)
}

function queryOf(parameters: URLSearchParams): SearchQuery {
  const known = ['skill', 'tag', 'capability', 'text', 'kind', 'status', 'limit', 'cursor']
  const unknown = [...parameters.keys()].find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new A2AError('invalid-params', `${unknown.slice(0, 50)} is none of ${known.join(', ')}.`)
  }
  const lists = ['skill', 'tag', 'capability'].map((name) => [name, parameters.getAll(name)])
  const words = ['text', 'kind', 'status', 'cursor'].flatMap((name) =>
    parameters.has(name) ? [[name, parameters.get(name)]] : [],
  )
  const limit = parameters.get('limit')
  const count = limit === null ? {} : { limit: /^\d+$/.test(limit) ? Number(limit) : Number.NaN }
  return { ...Object.fromEntries([...lists, ...words]), ...count }
}

/** Throws `A2AError`. */
async function urlIn(incoming: Incoming): Promise<string> {
  if (!isJson(incoming.header('content-type'))) {
    throw new A2AError('invalid-params', 'Expected a body of the type application/json, such as {"url":"https://…"}.')
  }
  const bytes = await incoming.bytes(maxBody)
  let body: unknown
  try {
    body = parseJson(bytes)
  } catch (error) {
    throw new A2AError('invalid-params', `The body is no JSON: ${error instanceof Error ? error.message : error}.`)
  }
  if (!isObject(body) || typeof body.url !== 'string') {
    throw new A2AError('invalid-params', 'url: expected an address, as in {"url":"https://agent.example.com"}.')
  }
  return body.url
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

async function on(method: string, routes: Readonly<Record<string, () => Promise<Outgoing>>>): Promise<Outgoing> {
  const handle = Object.hasOwn(routes, method) ? routes[method] : undefined
  if (handle) return await handle()
  const allow = Object.keys(routes).join(', ')
  return problem(405, `Expected ${allow}, got ${method.slice(0, 20)}.`, { allow })
}
