import { withDeadline } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import { isObject } from '../base/json.ts'
import type { DialectInfo } from '../dialects/dialect.ts'
import { type ReadCard, readPeerCard } from '../dialects/peer-card.ts'
import type { Fetch } from '../http/fetch.ts'
import { decodeUtf8, JsonError, parseJsonText } from '../http/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import { loaded } from '../protocol/lazy-import.ts'
import { failureOf, failures } from '../transports/client/failures.ts'
import { answerLimitsOf } from '../transports/client/options.ts'
import { type Answer, readAnswer } from '../transports/client/read-response.ts'
import { type CardCache, createCardCache } from './card-cache.ts'
import type { ConnectionTrace } from './diagnostics/connection-trace.ts'
import { isFile, readFile } from './files.ts'
import type { ConnectOptions, Local, Target } from './options.ts'
import { isTransient, retryBackoff, retrying } from './resilience/retry.ts'
import { type VerifyCard, verified } from './verify-card.ts'

/** Cards without credentials are the same for everybody. */
const sharedCards = createCardCache()

/** What tells the version of a card of 1.0. */
const namedVersions = 'supportedInterfaces names the versions'

/** Where cards were before 0.3. */
const formerly = '/.well-known/agent.json'

const maxCard = 2 ** 20

export interface FindCardOptions extends ConnectOptions {
  readonly fetch: Fetch
  readonly journal: ConnectionTrace
  readonly clock: Clock
  /** The newest first. */
  readonly readers: readonly [DialectInfo, ...DialectInfo[]]
  readonly readOlderCard?: ReadCard
}

/** Whom a target means. */
export interface FoundCard {
  readonly card: AgentCard
  readonly cardUrl?: string
  readonly orElse?: string
}

/**
 * The card of a target. Most are where they should be, and written as they should be: what finds and reads the others is
 * loaded if the first look shows none of those.
 */
export async function findCard(target: Target, options: FindCardOptions): Promise<FoundCard> {
  const { fetch, clock, readers, readOlderCard, journal, verifyCard, timeout = 30_000 } = options
  const expired = () => new A2AError('timeout', `There was no card within ${timeout / 1000} seconds.`)
  const { signal, release } = withDeadline(options.signal ?? new AbortController().signal, timeout, expired, clock)
  const isShared = !isLocal(target) && options.authorize === undefined
  const cache = options.cardCache ?? (isShared ? sharedCards : createCardCache(1))
  const [newest] = readers

  async function look(url: string): Promise<Answer> {
    const etag = cache.get(url)?.etag
    // Some servers have a card for each version.
    const headers = {
      accept: 'application/json',
      'a2a-version': newest.version,
      ...(etag && { 'if-none-match': etag }),
    }
    const response = await fetch(url, { method: 'GET', headers, signal })
    return await readAnswer(response, { ...answerLimitsOf({ answerLimit: 2 ** 20 }), url })
  }

  /** Throws if it is no usual card. */
  async function read({ status, url: cardUrl, body, headers }: Answer): Promise<FoundCard | undefined> {
    const unchanged = status === 304 ? cache.get(url)?.wire : undefined
    const wire = unchanged ?? body
    if (!isObject(wire)) return undefined
    const { decodeCard } = await newest.load()
    const read = isOlder(wire)
      ? await readOlderCard?.(wire, readers)
      : { card: decodeCard(wire), evidence: namedVersions }
    if (!read) return undefined
    const { evidence, ...found } = read
    const etag = headers.get('etag')
    if (etag !== null) cache.set(url, { etag, wire })
    journal.add({ type: 'card', url: cardUrl, outcome: unchanged ? 'unchanged' : 'found', detail: '' })
    journal.add({ type: 'reading', detail: evidence })
    return { ...found, cardUrl }
  }

  const url = likeliestUrl(target)
  let first = url ? look(url) : undefined
  try {
    const answer = await first?.catch(() => undefined)
    const isUsual = answer && answer.status < 400 && !verifyCard
    const found = isUsual && (await read(answer).catch(() => undefined))
    if (found) return found
    const { searchCard } = await loaded('find the card', import('./find-card.ts'))
    return await searchCard(target, {
      ...options,
      cache,
      signal,
      look(at) {
        // What was seen is not asked for again, unless the search begins anew.
        const seen = at === url ? first : undefined
        first = undefined
        return seen ?? look(at)
      },
    })
  } finally {
    release()
  }
}

export function isLocal(target: Target): target is Local {
  return typeof target === 'object' && 'fetch' in target && typeof target.fetch === 'function'
}

/** Where the card of a target should be; empty, if it is no address. A path may be a card, or where an agent is mounted. */
export function likeliestUrl(target: Target): string {
  const address = isLocal(target) ? localOrigin : `${target}`
  if (!/^https?:/i.test(address) || !URL.canParse(address)) return ''
  const { origin, pathname, search, href } = new URL(address)
  return pathname.endsWith('.json') ? href : `${origin}${pathname.replace(/\/+$/, '')}${wellKnown}${search}`
}

export interface SearchOptions extends FindCardOptions {
  readonly cache: CardCache
  readonly signal: AbortSignal
  readonly look: (url: string) => Promise<Answer>
}

/** The card of a target, whatever and wherever it is, and however it is written. */
export async function searchCard(target: Target, options: SearchOptions): Promise<FoundCard> {
  const { journal, clock, signal, verifyCard: verify } = options
  if (isModel(target)) return { card: target }
  if (!isAddress(target)) return read(await verified(requireCard(target), undefined, verify), options)
  if (!isLocal(target) && isFile(target)) {
    // Browsers have no files, and need nothing of it.
    const { readCardFile } = await import('./find-card.ts')
    return read(await readCardFile(target, { journal, ...(verify && { verify }) }), options)
  }
  const address = isLocal(target) ? localOrigin : `${target}`
  const first = likeliestUrl(target)
  if (first === '') {
    const problem = `${JSON.stringify(address)} is no address of an agent.`
    throw new A2AError('invalid-params', problem, { reason: 'bad-url', url: address })
  }
  const find = () => searchAt([first, ...otherUrls(new URL(address))], address, options)
  const backoff = retryBackoff(options.retry)
  const { wire, url } = await find().catch((error) =>
    retrying(find, error, { backoff, signal, clock, isWorthIt: isTransient }),
  )
  return { ...(await read(wire, options)), cardUrl: url }
}

/** An agent in this process is at no address; it builds its own from the one that it is asked at. */
export const localOrigin = 'http://localhost'

/** Since 0.3. */
export const wellKnown = '/.well-known/agent-card.json'

/** The card in a file of this machine. */
export async function readCardFile(
  path: string | URL,
  { journal, verify }: { readonly journal: ConnectionTrace; readonly verify?: VerifyCard },
): Promise<JsonObject> {
  const url = `${path}`
  const wire = parse(await readFile(path, maxCard), url)
  if (!isObject(wire) || !isCard(wire)) throw notACard(url, 'has JSON that is no agent card')
  const believed = await verified(wire, url, verify)
  journal.add({ type: 'card', url, outcome: 'found', detail: '' })
  return believed
}

/** Whether JSON has what a card of any version has. */
export function isCard({ name, url, supportedInterfaces, agent_id }: JsonObject): boolean {
  return agent_id !== undefined || (name !== undefined && (url !== undefined || supportedInterfaces !== undefined))
}

async function read(wire: JsonObject, { journal, readers, readOlderCard }: SearchOptions): Promise<FoundCard> {
  const { card, evidence, orElse } = await readPeerCard(wire, readers, readOlderCard)
  journal.add({ type: 'reading', detail: evidence })
  return { card, ...(orElse !== undefined && { orElse }) }
}

function isOlder({ url, supportedInterfaces, protocolVersion }: JsonObject): boolean {
  return typeof url === 'string' && supportedInterfaces === undefined && !/^[1-9]/.test(`${protocolVersion}`)
}

function isModel(target: Target): target is AgentCard {
  return isObject(target) && Array.isArray(target.interfaces) && target.supportedInterfaces === undefined
}

function isAddress(target: Target): target is string | URL | Local {
  return typeof target === 'string' || target instanceof URL || isLocal(target)
}

/** An agent as its author wrote it has no way to be asked. */
function requireCard(target: JsonObject): JsonObject {
  if (typeof target.run !== 'function') return target
  const problem = 'This agent cannot be asked: expected one made by agent() of parley-a2a, or createHandler(agent).'
  throw new A2AError('invalid-params', problem, { reason: 'not-a-card' })
}

async function searchAt(urls: readonly string[], target: string, options: SearchOptions) {
  const { journal, signal } = options
  const failures: string[] = []
  for (const url of urls) {
    try {
      return await cardAt(url, options)
    } catch (error) {
      const failure = await failureOf(error, url, signal)
      journal.add({ type: 'card', url, outcome: 'failed', detail: failure.message })
      if (!isElsewhere(failure)) throw failure
      failures.push(failure.message)
    }
  }
  throw new A2AError('invalid-agent-response', `There is no agent card at ${target}. ${failures.join(' ')}`, {
    reason: 'card-not-found',
    url: urls[0],
  })
}

async function cardAt(asked: string, options: SearchOptions) {
  const { cache, journal, verifyCard } = options
  const answer = await options.look(asked)
  const unchanged = answer.status === 304 ? cache.get(asked)?.wire : undefined
  const isRefused = answer.status < 200 || answer.status >= 300 || answer.form !== 'json'
  if (!unchanged && isRefused) throw (await failures()).notA2AError(answer)
  const wire = unchanged ?? answer.body
  if (!isObject(wire) || !isCard(wire)) {
    const problem = `${asked} has JSON that is no agent card.`
    throw new A2AError('invalid-agent-response', problem, { reason: 'not-a-card', url: asked })
  }
  const believed = await verified(wire, asked, verifyCard)
  const etag = answer.headers.get('etag')
  if (!unchanged && etag !== null) cache.set(asked, { etag, wire })
  const url = unchanged ? asked : answer.url
  journal.add({ type: 'card', url, outcome: unchanged ? 'unchanged' : 'found', detail: '' })
  return { wire: believed, url }
}

/** Whether it may be at another address. What nobody answers, or refuses, is not looked for behind its back. */
function isElsewhere({ code, reason }: A2AError): boolean {
  return code === 'method-not-found' || reason === 'html' || reason === 'not-json' || reason === 'not-a-card'
}

/** A path may be a card, or where an agent is mounted; and the agent of an origin may be meant by any of its pages. */
function otherUrls({ origin, pathname, search, href }: URL): readonly string[] {
  if (pathname.endsWith('.json')) return []
  const path = pathname.replace(/\/+$/, '')
  const beside = `${origin}${path}${formerly}${search}`
  return path === '' ? [beside] : [beside, href, `${origin}${wellKnown}`, `${origin}${formerly}`]
}

function parse(bytes: Uint8Array, url: string): unknown {
  try {
    return parseJsonText(decodeUtf8(bytes))
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw notACard(url, `is no JSON: ${error.message}`)
  }
}

function notACard(url: string, problem: string): A2AError {
  return new A2AError('invalid-params', `${url} ${problem}.`, { reason: 'not-a-card', url })
}
