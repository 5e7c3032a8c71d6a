import { isObject } from '../dialects/is-object.ts'
import { withDeadline } from '../http/deadline.ts'
import { A2AError } from '../protocol/errors.ts'
import { loaded } from '../protocol/loaded.ts'
import type { JsonObject } from '../protocol/model.ts'
import { answerLimitsOf } from '../transports/client-options.ts'
import { type Answer, readAnswer } from '../transports/read-answer.ts'
import { createCardCache } from './card-cache.ts'
import { isLocal, likeliestUrl } from './card-place.ts'
import type { FindCardOptions, FoundCard } from './found-card.ts'
import type { Target } from './options.ts'

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
    journal.note({ type: 'card', url: cardUrl, outcome: unchanged ? 'unchanged' : 'found', detail: '' })
    journal.note({ type: 'reading', detail: evidence })
    return { ...found, cardUrl }
  }

  const url = likeliestUrl(target)
  let first = url ? look(url) : undefined
  try {
    const answer = await first?.catch(() => undefined)
    const isUsual = answer && answer.status < 400 && !verifyCard
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
const namedVersions = 'supportedInterfaces names the versions'

function isOlder({ url, supportedInterfaces, protocolVersion }: JsonObject): boolean {
  return typeof url === 'string' && supportedInterfaces === undefined && !/^[1-9]/.test(`${protocolVersion}`)
}
