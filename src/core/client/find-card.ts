import { withDeadline } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { defined, isObject, type JsonObject } from '../base/json.ts'
import { clientDialects } from '../dialects/client-dialects.ts'
import { readPeerCard } from '../dialects/peer-card.ts'
import type { Fetch } from '../http/fetch.ts'
import { decodeUtf8, JsonError, parseJsonText } from '../http/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import { networkError, notA2AError } from '../transports/client/failures.ts'
import { answerLimitsOf } from '../transports/client/http-client.ts'
import { readResponse } from '../transports/client/read-response.ts'
import type { ConnectionTrace } from './diagnostics/connection-trace.ts'
import { isFile, readFile } from './files.ts'
import type { CachedCard, CardCache, ConnectOptions, Local, Target, VerifyCard } from './options.ts'
import { isTransient, retry, retryBackoff } from './resilience/retry.ts'

/** Where a card is since 0.3, and where it was before. */
const wellKnown = '/.well-known/agent-card.json'
const formerWellKnown = '/.well-known/agent.json'

/** An agent in this process has no address; it derives its own from the one it is called at. */
const localOrigin = 'http://localhost'

/** Bytes of a card. */
const maxCard = 2 ** 20

export interface FindCardOptions extends ConnectOptions {
  readonly fetch: Fetch
  readonly trace: ConnectionTrace
  readonly clock: Clock
}

export interface CardInfo {
  readonly card: AgentCard
  /** Where the card was found; undefined if it was passed in or read from a file. */
  readonly cardUrl?: string
  /** The headers of the answer with the card. */
  readonly headers?: Headers
  /** A version that is as likely as the one of the card. */
  readonly alternativeVersion?: string
}

/** Finds the card of a target, whatever the target is and however its card is written. */
export async function findCard(target: Target, options: FindCardOptions): Promise<CardInfo> {
  if (isModel(target)) return { card: target }
  const { wire, url, headers } = await loadCard(target, options)
  const { card, evidence, alternativeVersion } = await readPeerCard(wire)
  options.trace.add({ type: 'reading', detail: evidence })
  return { card, cardUrl: url, headers, alternativeVersion }
}

/** A cache to share between clients, of at most `limit` cards: the oldest one makes room for a new one. */
export function createCardCache(limit = 256): CardCache {
  const cards = new Map<string, CachedCard>()
  return {
    get: (url) => cards.get(url),
    set(url, card) {
      cards.delete(url)
      cards.set(url, card)
      for (const oldest of cards.keys()) if (cards.size > limit) cards.delete(oldest)
    },
  }
}

/** The verified part of a card; non-objects pass through, because no reader accepts them. */
export async function verifyCard<T>(
  wire: T,
  url: string | undefined,
  verify: VerifyCard | undefined,
): Promise<T | JsonObject> {
  if (!isObject(wire)) return wire
  try {
    return (await verify?.(wire)) ?? wire
  } catch (error) {
    const where = url === undefined ? '' : ` at ${url}`
    const problem = `The card${where} failed verification: ${error instanceof Error ? error.message : error}.`
    throw new A2AError('invalid-agent-response', problem, { cause: error, reason: 'card-verification-failed', url })
  }
}

export function isLocal(target: Target): target is Local {
  return typeof target === 'object' && target !== null && 'fetch' in target && typeof target.fetch === 'function'
}

/** Cards that are served without credentials are the same for every caller. */
const sharedCards = createCardCache()

interface LoadedCard {
  readonly wire: JsonObject
  readonly url?: string
  readonly headers?: Headers
}

async function loadCard(target: Exclude<Target, AgentCard>, options: FindCardOptions): Promise<LoadedCard> {
  if (isLocal(target)) return await searchCard(localOrigin, createCardCache(1), options)
  if (typeof target !== 'string' && !(target instanceof URL)) {
    return { wire: await verifyCard(requireCard(target), undefined, options.verifyCard) }
  }
  const address = withScheme(`${target}`)
  if (!isHttpUrl(address) && isFile(target)) return { wire: await readCardFile(target, options) }
  return await searchCard(address, options.authorize ? createCardCache(1) : sharedCards, options)
}

/**
 * The URL of an address without a scheme, such as `localhost:4000` or `agent.example.com`: with TLS, except on this machine.
 * Paths of files and everything else stay as they are.
 */
export function withScheme(address: string): string {
  if (!/^(\[[\da-f:.]+\]|[\w.-]+):\d{1,5}(\/|$)|^(localhost|[\w-]+(\.[\w-]+)+)(\/|$)/i.test(address)) return address
  if (/\.json$/i.test(address) && !/^[^/]+:\d/.test(address)) return address
  return `${/^(localhost|127\.[\d.]+|\[::1\])(:|\/|$)/i.test(address) ? 'http' : 'https'}://${address}`
}

function isHttpUrl(address: string): boolean {
  return /^https?:/i.test(address) && URL.canParse(address)
}

function isModel(target: Target): target is AgentCard {
  return isObject(target) && Array.isArray(target.interfaces) && target.supportedInterfaces === undefined
}

/** An agent definition without `fetch` cannot be called, and a variable of the environment may not be set. */
function requireCard(target: JsonObject): JsonObject {
  if (!isObject(target)) {
    const problem = `Expected the URL of an agent, its card, or an agent of this process, got ${JSON.stringify(target)}.`
    throw notACard('invalid-params', problem)
  }
  if (typeof target.run !== 'function') return target
  const problem = 'This agent cannot be called: expected one made by agent() of parley-a2a, or createHandler(agent).'
  throw notACard('invalid-params', problem)
}

async function readCardFile(path: string | URL, options: FindCardOptions): Promise<JsonObject> {
  const url = `${path}`
  const wire = requireCardIn(parseFile(await readFile(path, maxCard), url), url, 'invalid-params')
  const card = await verifyCard(wire, url, options.verifyCard)
  options.trace.add({ type: 'card', url, outcome: 'found', detail: '' })
  return card
}

function parseFile(bytes: Uint8Array, url: string): unknown {
  try {
    return parseJsonText(decodeUtf8(bytes))
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw notACard('invalid-params', `${url} is not JSON: ${error.message}.`, url)
  }
}

/** The card in the JSON of a file or an answer. Cards of every version have a name and an address; those of a mesh have an id. */
function requireCardIn(wire: unknown, url: string, code: ErrorCode): JsonObject {
  if (isObject(wire)) {
    const { name, url: address = wire.supportedInterfaces, agent_id } = wire
    if (agent_id !== undefined || (name !== undefined && address !== undefined)) return wire
  }
  throw notACard(code, `${url} has JSON that is not an agent card.`, url)
}

function notACard(code: ErrorCode, problem: string, url?: string): A2AError {
  return new A2AError(code, problem, { reason: 'not-a-card', url })
}

/** Fetches the card from the first of its possible URLs that has one. Transient failures start the search anew. */
async function searchCard(address: string, fallbackCache: CardCache, options: FindCardOptions): Promise<LoadedCard> {
  const { clock, timeout = 30_000, cardCache: cache = fallbackCache } = options
  const urls = cardUrls(address)
  const expired = () => new A2AError('timeout', `There was no card within ${timeout / 1000} seconds.`)
  const { signal, release } = withDeadline(options.signal ?? new AbortController().signal, timeout, expired, clock)
  const search = () => fetchFirstCard(urls, address, { ...options, cache, signal })
  try {
    return await search().catch((error) =>
      retry(search, error, { backoff: retryBackoff(options.retry), signal, clock, mayRetry: isTransient }),
    )
  } finally {
    release()
  }
}

/**
 * The URLs at which the card of an address may be, the likeliest first. A path may be a card, or where an agent is
 * mounted; and any page of an origin may stand for the agent of that origin.
 */
function cardUrls(address: string): readonly string[] {
  if (!isHttpUrl(address)) {
    const problem = `${JSON.stringify(address)} is not the address of an agent.`
    throw new A2AError('invalid-params', problem, { reason: 'bad-url', url: address })
  }
  const { origin, pathname, search, href } = new URL(address)
  if (pathname.endsWith('.json')) return [href]
  const path = pathname.replace(/\/+$/, '')
  const mountUrls = [`${origin}${path}${wellKnown}${search}`, `${origin}${path}${formerWellKnown}${search}`]
  return path === '' ? mountUrls : [...mountUrls, href, `${origin}${wellKnown}`, `${origin}${formerWellKnown}`]
}

interface FetchCardOptions extends FindCardOptions {
  readonly cache: CardCache
  readonly signal: AbortSignal
}

async function fetchFirstCard(
  urls: readonly string[],
  address: string,
  options: FetchCardOptions,
): Promise<LoadedCard> {
  const failures: string[] = []
  for (const url of urls) {
    try {
      return await fetchCard(url, options)
    } catch (error) {
      const failure = networkError(error, url, options.signal)
      options.trace.add({ type: 'card', url, outcome: 'failed', detail: failure.message })
      if (!mayBeElsewhere(failure)) throw failure
      failures.push(failure.message)
    }
  }
  throw new A2AError('invalid-agent-response', `There is no agent card at ${address}. ${failures.join(' ')}`, {
    reason: 'card-not-found',
    url: urls[0],
  })
}

/** Whether the card may be at another URL. A server that cannot be reached or refuses the request is not bypassed. */
function mayBeElsewhere({ code, reason }: A2AError): boolean {
  return code === 'method-not-found' || reason === 'html' || reason === 'not-json' || reason === 'not-a-card'
}

/** Only a verified card is cached and recorded. */
async function fetchCard(requestUrl: string, options: FetchCardOptions): Promise<LoadedCard> {
  const { fetch, cache, signal, trace } = options
  const cached = cache.get(requestUrl)
  const headers = defined({
    accept: 'application/json',
    // Some servers have a card for each version. They need not know one that is not released.
    'a2a-version': clientDialects.find(({ extendsVersion }) => !extendsVersion)?.version,
    'if-none-match': cached?.etag,
  })
  const response = await fetch(requestUrl, { method: 'GET', headers, signal })
  const content = await readResponse(response, { ...answerLimitsOf({ answerLimit: maxCard }), url: requestUrl })
  const unchanged = content.status === 304 ? cached?.wire : undefined
  const isRefused = content.status < 200 || content.status >= 300 || content.form !== 'json'
  if (!unchanged && isRefused) throw notA2AError(content)
  const wire = requireCardIn(unchanged ?? content.body, requestUrl, 'invalid-agent-response')
  const card = await verifyCard(wire, requestUrl, options.verifyCard)
  const etag = content.headers.get('etag')
  if (!unchanged && etag !== null) cache.set(requestUrl, { etag, wire })
  trace.add({ type: 'card', url: content.url, outcome: unchanged ? 'unchanged' : 'found', detail: '' })
  return { wire: card, url: content.url, headers: content.headers }
}
