import { aFunction, checkOptions, having, integer, isAbove } from '../core/base/options.ts'
import { createMemoryLimits, type LimitStore, type RateLimit as Rate } from '../core/limits/limit-store.ts'

/** The same `limit` and `window` as in the quotas of `serve`. */
export interface RateLimitOptions extends Rate {
  /**
   * Peers that are remembered. Beyond that, a peer that was quiet starts with all messages again. Defaults to 10,000.
   */
  readonly peers?: number
  /**
   * Counts the messages. Defaults to this process; replicas of one agent share a store such as `createPostgresLimits`.
   */
  readonly store?: LimitStore
  readonly now?: () => number
}

/** Limits how often a peer may send. */
export interface RateLimit {
  /** What the limit allows, for the error of a peer that exceeds it. */
  readonly rule?: Rate
  /** Counts one message of the peer. Returns 0, or the seconds until the next one is accepted. */
  take(peer: string): Promise<number> | number
}

/** Allows each peer `limit` messages in `window` seconds. */
export function createRateLimit(options: RateLimitOptions): RateLimit {
  checkOptions('createRateLimit', options, {
    limit: isAbove(0),
    window: isAbove(0),
    peers: integer({ min: 1 }),
    store: having('a limit store such as createPostgresLimits()', 'take'),
    now: aFunction,
  })
  const { limit, window, peers = 10_000, now = Date.now } = options
  if (limit === undefined || window === undefined) {
    throw new TypeError('createRateLimit: expected limit and window, such as { limit: 1000, window: 1 }.')
  }
  const { store = createMemoryLimits({ callers: peers, now }) } = options
  return {
    rule: { limit, window },
    async take(peer) {
      const { isAllowed, retryAfter } = await store.take(`mesh ${peer}`, { limit, window })
      return isAllowed ? 0 : Math.max(1, Math.ceil(retryAfter))
    },
  }
}
