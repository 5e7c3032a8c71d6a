import type { KnownDialect } from '../dialects/dialect.ts'
import { isObject } from '../dialects/is-object.ts'
import { type ReadCard, readPeerCard } from '../dialects/peer-card.ts'
import { withDeadline } from '../http/deadline.ts'
import type { Fetch } from '../http/outbound.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { Clock } from '../protocol/clock.ts'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/model.ts'
import { createCardCache } from './card-cache.ts'
import { findCard } from './find-card.ts'
import { isFile } from './is-file.ts'
import type { Journal } from './journal.ts'
import { backoffsOf, type ConnectOptions, type Local, type Target } from './options.ts'
import { verified } from './verified.ts'

/** Whom a target means. */
export interface Resolved {
  readonly card: AgentCard
  readonly cardUrl?: string
  readonly orElse?: string
}

export interface ResolveOptions extends ConnectOptions {
  readonly fetch: Fetch
  readonly journal: Journal
  readonly clock: Clock
  /** The newest first. */
  readonly readers: readonly KnownDialect[]
  readonly readOlderCard?: ReadCard
}

/** An agent in this process is at no address; it builds its own from the one that it is asked at. */
const localOrigin = 'http://localhost'

/** Cards without credentials are the same for everybody. */
const sharedCards = createCardCache()

/** The card of a target, fetched if it has to be. */
export async function resolveCard(target: Target, options: ResolveOptions): Promise<Resolved> {
  const { fetch, journal, clock, readers, timeout = 30_000, verifyCard: verify } = options
  if (isModel(target)) return { card: target }
  if (!isAddress(target)) return read(await verified(requireCard(target), undefined, verify), options)
  if (!isLocal(target) && isFile(target)) {
    // Browsers have no files, and need nothing of it.
    const { readCardFile } = await import('./card-file.ts')
    return read(await readCardFile(target, { journal, ...(verify && { verify }) }), options)
  }
  const isShared = !isLocal(target) && options.authorize === undefined
  const cache = options.cardCache ?? (isShared ? sharedCards : createCardCache(1))
  const version = readers[0]?.version ?? ''
  const never = new AbortController().signal
  const expired = () => new A2AError('timeout', `There was no card within ${timeout / 1000} seconds.`)
  const { signal, release } = withDeadline(options.signal ?? never, timeout, expired, clock)
  const find = () => findCard(addressOf(target), { fetch, cache, journal, signal, version, ...(verify && { verify }) })
  try {
    const { retry } = backoffsOf(options)
    const { wire, url } = await find().catch(async (error) => {
      const { isTransient, retrying } = await import('./retry.ts')
      return await retrying(find, error, { backoff: retry, signal, clock, isWorthIt: isTransient })
    })
    return { ...(await read(wire, options)), cardUrl: url }
  } finally {
    release()
  }
}

async function read(wire: JsonObject, { journal, readers, readOlderCard }: ResolveOptions): Promise<Resolved> {
  const { card, evidence, orElse } = await readPeerCard(wire, readers, readOlderCard)
  journal.note({ type: 'reading', detail: evidence })
  return { card, ...(orElse !== undefined && { orElse }) }
}

export function isLocal(target: Target): target is Local {
  return typeof target === 'object' && 'fetch' in target && typeof target.fetch === 'function'
}

/** An agent as its author wrote it has no way to be asked. */
function requireCard(target: JsonObject): JsonObject {
  if (typeof target.run !== 'function') return target
  const problem = 'This agent cannot be asked: expected one made by agent() of parley-a2a, or createHandler(agent).'
  throw new A2AError('invalid-params', problem, { reason: 'not-a-card' })
}

function isAddress(target: Target): target is string | URL | Local {
  return typeof target === 'string' || target instanceof URL || isLocal(target)
}

function isModel(target: Target): target is AgentCard {
  return isObject(target) && Array.isArray(target.interfaces) && target.supportedInterfaces === undefined
}

function addressOf(target: string | URL | Local): string {
  if (isLocal(target)) return localOrigin
  const address = `${target}`
  if (URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)) return address
  const problem = `${JSON.stringify(address)} is no address of an agent.`
  throw new A2AError('invalid-params', problem, { reason: 'bad-url', url: address })
}
