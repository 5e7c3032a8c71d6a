import { createMemoryLimits, type LimitStore } from '../limits/limit-store.ts'

export interface RateLimitOptions {
  /** Sustained messages per second. */
  readonly perSecond: number
  /** Messages that may arrive at once. Defaults to `perSecond`, at least 1. */
  readonly burst?: number
  /**
   * Peers that are remembered. Beyond that, a peer that was quiet starts with a full burst again. Defaults to 10,000.
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
  /** Counts one message of the peer. Returns 0, or the seconds until the next one is accepted. */
  take(peer: string): Promise<number> | number
}

export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { perSecond, burst = Math.max(1, perSecond), peers = 10_000, now = Date.now } = options
  const { store = createMemoryLimits({ callers: peers, now }) } = options
  const rate = { limit: burst, window: burst / perSecond }
  return {
    async take(peer) {
      const { isAllowed, retryAfter } = await store.take(`mesh ${peer}`, rate)
      return isAllowed ? 0 : Math.max(1, Math.ceil(retryAfter))
    },
  }
}
