import type { KnownDialect } from '../dialects/dialect.ts'
import { isObject } from '../dialects/is-object.ts'
import type { ReadCard } from '../dialects/peer-card.ts'
import { withDeadline } from '../http/deadline.ts'
import type { Fetch } from '../http/outbound.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { Clock } from '../protocol/clock.ts'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/model.ts'
import { answerLimitsOf } from '../transports/client-options.ts'
import { type Answer, readAnswer } from '../transports/read-answer.ts'
import { type CardCache, createCardCache } from './card-cache.ts'
import type { Journal } from './journal.ts'
import { loaded } from './loaded.ts'
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

/** What was at an address. */
export interface Look {
  readonly answer: Answer
  /** The card as it was when it was last seen there, if it still is. */
  readonly unchanged: JsonObject | undefined
}

export interface SearchOptions extends FindCardOptions {
  readonly cache: CardCache
  readonly signal: AbortSignal
  readonly look: (url: string) => Promise<Look>
}

/** Cards without credentials are the same for everybody. */
const sharedCards = createCardCache()

/**
 * The card of a target. Most are where they should be, and written as they should be: what finds and reads the others is
 * loaded if the first look shows none of those.
 */
export async function findCard(target: Target, options: FindCardOptions): Promise<FoundCard> {
  const { clock, timeout = 30_000 } = options
  const expired = () => new A2AError('timeout', `There was no card within ${timeout / 1000} seconds.`)
  const { signal, release } = withDeadline(options.signal ?? new AbortController().signal, timeout, expired, clock)
  const isShared = !isLocal(target) && options.authorize === undefined
  const cache = options.cardCache ?? (isShared ? sharedCards : createCardCache(1))
  const [url = ''] = cardUrls(target)
  const look = (at: string) => lookAt(at, options, cache, signal)
  let first: Promise<Look> | undefined = url === '' ? undefined : look(url)
  try {
    const found = await first?.then((seen) => readPlainly(seen, { ...options, url, cache })).catch(() => undefined)
    if (found) return found
    const { searchCard } = await loaded('find the card', () => import('./search-card.ts'))
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

async function lookAt(
  url: string,
  { fetch, readers: [newest] }: FindCardOptions,
  cache: CardCache,
  signal: AbortSignal,
): Promise<Look> {
  const known = cache.get(url)
  const headers = {
    accept: 'application/json',
    // Some servers have a card for each version.
    'a2a-version': newest.version,
    ...(known && { 'if-none-match': known.etag }),
  }
  const response = await fetch(url, { method: 'GET', headers, signal })
  const answer = await readAnswer(response, { ...answerLimitsOf({ answerLimit: 2 ** 20 }), url })
  return { answer, unchanged: answer.status === 304 ? known?.wire : undefined }
}

/** Throws if it is no usual card of the newest version. One that its caller verifies is not for here, either. */
async function readPlainly(
  look: Look,
  options: FindCardOptions & Pick<Finding, 'url' | 'cache'>,
): Promise<FoundCard | undefined> {
  const { unchanged = look.answer.body } = look
  if (options.verifyCard || !isObject(unchanged) || look.answer.status >= 400) return undefined
  const { decodeCard } = await options.readers[0].load()
  const card = decodeCard(unchanged)
  const cardUrl = noteFound(look, { ...options, wire: unchanged })
  options.journal.note({ type: 'reading', detail: namedVersions })
  return { card, cardUrl }
}

/** What tells the version of a card of 1.0. */
export const namedVersions = 'supportedInterfaces names the versions'

interface Finding extends Pick<FindCardOptions, 'journal'> {
  /** Where it was asked for. */
  readonly url: string
  readonly cache: CardCache
  readonly wire: JsonObject
}

/** Where it was found in the end. */
export function noteFound({ answer, unchanged }: Look, { url: asked, cache, journal, wire }: Finding): string {
  const url = unchanged ? asked : answer.url
  const etag = answer.headers.get('etag')
  if (!unchanged && etag !== null) cache.set(asked, { etag, wire })
  journal.note({ type: 'card', url, outcome: unchanged ? 'unchanged' : 'found', detail: '' })
  return url
}

/** An agent in this process is at no address; it builds its own from the one that it is asked at. */
export const localOrigin = 'http://localhost'

/** Since 0.3, and before. */
const wellKnown = ['/.well-known/agent-card.json', '/.well-known/agent.json']

/** Where the card of a target may be, the likeliest place first; nowhere, if it is no address. */
export function cardUrls(target: Target): readonly string[] {
  const address = isLocal(target) ? localOrigin : target
  if (!/^https?:/i.test(`${address}`) || !URL.canParse(`${address}`)) return []
  const { origin, pathname, search, href } = new URL(`${address}`)
  if (/\.json$/.test(pathname)) return [href]
  const path = pathname.replace(/\/+$/, '')
  const below = wellKnown.map((each) => `${origin}${path}${each}${search}`)
  // A path may be a card, or where an agent is mounted; and the agent of an origin may be meant by any of its pages.
  return path === '' ? below : [...below, href, ...wellKnown.map((each) => `${origin}${each}`)]
}

export function isLocal(target: Target): target is Local {
  return typeof target === 'object' && 'fetch' in target && typeof target.fetch === 'function'
}
