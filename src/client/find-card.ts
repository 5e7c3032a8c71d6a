import type { KnownDialect } from '../dialects/dialect.ts'
import { isObject } from '../dialects/is-object.ts'
import type { ReadCard } from '../dialects/peer-card.ts'
import { withDeadline } from '../http/deadline.ts'
import type { Fetch } from '../http/outbound.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { Clock } from '../protocol/clock.ts'
import { A2AError } from '../protocol/errors.ts'
import { loaded } from '../protocol/loaded.ts'
import type { JsonObject } from '../protocol/model.ts'
import { answerLimitsOf } from '../transports/client-options.ts'
import { type Answer, readAnswer } from '../transports/read-answer.ts'
import { type CardCache, createCardCache } from './card-cache.ts'
import type { Journal } from './journal.ts'
import type { ConnectOptions, Local, Target } from './options.ts'

/** Whom a target means. */
export interface FoundCard {
  readonly card: AgentCard
  readonly cardUrl?: string
  readonly orElse?: string
}

export interface FindCardOptions extends ConnectOptions {
  readonly fetch: Fetch
  readonly journal: Journal
  readonly clock: Clock
  /** The newest first. */
  readonly readers: readonly [KnownDialect, ...KnownDialect[]]
  readonly readOlderCard?: ReadCard
}

export interface SearchOptions extends FindCardOptions {
  readonly cache: CardCache
  readonly signal: AbortSignal
  readonly look: (url: string) => Promise<Answer>
}

/** Cards without credentials are the same for everybody. */
const sharedCards = createCardCache()

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
  async function read({ url: cardUrl, body, headers }: Answer): Promise<FoundCard | undefined> {
    if (!isObject(body)) return undefined
    const { decodeCard } = await newest.load()
    const read = isOlder(body)
      ? await readOlderCard?.(body, readers)
      : { card: decodeCard(body), evidence: namedVersions }
    if (!read) return undefined
    const { evidence, ...found } = read
    const etag = headers.get('etag')
    if (etag !== null) cache.set(url, { etag, wire: body })
    journal.note({ type: 'card', url: cardUrl, outcome: 'found', detail: '' })
    journal.note({ type: 'reading', detail: evidence })
    return { ...found, cardUrl }
  }

  const url = likeliestUrl(target)
  let first = url ? look(url) : undefined
  try {
    const answer = await first?.catch(() => undefined)
    const isUsual = answer?.status === 200 && !verifyCard
    const found = isUsual && (await read(answer).catch(() => undefined))
    if (found) return found
    const { searchCard } = await loaded('find the card', import('./search-card.ts'))
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

/** What tells the version of a card of 1.0. */
export const namedVersions = 'supportedInterfaces names the versions'

/** Since 0.3. */
export const wellKnown = '/.well-known/agent-card.json'

/** An agent in this process is at no address; it builds its own from the one that it is asked at. */
export const localOrigin = 'http://localhost'

/** Where the card of a target should be; empty, if it is no address. A path may be a card, or where an agent is mounted. */
export function likeliestUrl(target: Target): string {
  const address = isLocal(target) ? localOrigin : `${target}`
  if (!/^https?:/i.test(address) || !URL.canParse(address)) return ''
  const { origin, pathname, search, href } = new URL(address)
  return pathname.endsWith('.json') ? href : `${origin}${pathname.replace(/\/+$/, '')}${wellKnown}${search}`
}

function isOlder({ url, supportedInterfaces, protocolVersion }: JsonObject): boolean {
  return typeof url === 'string' && supportedInterfaces === undefined && !/^[1-9]/.test(`${protocolVersion}`)
}

export function isLocal(target: Target): target is Local {
  return typeof target === 'object' && 'fetch' in target && typeof target.fetch === 'function'
}
