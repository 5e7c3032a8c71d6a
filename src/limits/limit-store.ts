import { BoundedMap } from '../base/bounded-map.ts'
export interface MemoryLimitsOptions {
  /** Callers that are remembered. Of more, those who were quiet for longest start anew. */
  readonly callers?: number
  readonly now?: () => number
}

export interface RateLimit {
  readonly limit: number
  /** Seconds. */
  readonly window: number
}

/** How a caller stands after a use. */
export interface RateState {
  readonly isAllowed: boolean
  readonly remaining: number
  /** Seconds until all uses are back. */
  readonly fullAfter: number
  /** Seconds until there is a use again; 0 if there is one. */
  readonly retryAfter: number
}

export type Release = () => void

/** Counts how much is used, in one process or for many. */
export interface LimitStore {
  /** Takes one of `limit` uses in `window` seconds, which come back steadily. */
  take(key: string, rate: RateLimit): RateState | Promise<RateState>
  /** Takes one of so many places; undefined if all are taken. */
  hold(key: string, places: number): Release | undefined | Promise<Release | undefined>
}

/** For one process. */
export function createMemoryLimits({ callers = 100_000, now = Date.now }: MemoryLimitsOptions = {}): LimitStore {
  const full = new BoundedMap<string, number>(callers)
  const held = new Map<string, number>()
  return {
    take(key, rate) {
      const moment = now()
      const known = full.get(key) ?? 0
      const next = nextFull(known, moment, rate)
      full.set(key, next ?? known)
      return standingAt(next ?? known, moment, rate, next !== undefined)
    },
    hold(key, places) {
      const taken = held.get(key) ?? 0
      if (taken >= places) return undefined
      held.set(key, taken + 1)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        const left = (held.get(key) ?? 1) - 1
        if (left > 0) held.set(key, left)
        else held.delete(key)
      }
    },
  }
}

/**
 * A rate needs one number to be remembered: when all uses will be back, in milliseconds (the generic cell rate
 * algorithm). Gives undefined if there is no use left.
 */
function nextFull(full: number, now: number, { limit, window }: RateLimit): number | undefined {
  const next = Math.max(full, now) + (window * 1000) / limit
  // What was added up by fractions may be a little more than the whole.
  return next > now + window * 1000 + 0.01 ? undefined : next
}

function standingAt(full: number, now: number, { limit, window }: RateLimit, isAllowed: boolean): RateState {
  const each = (window * 1000) / limit
  const used = Math.max(0, full - now)
  const wait = used + each - window * 1000
  return {
    isAllowed,
    remaining: Math.max(0, Math.floor((window * 1000 - used) / each + 1e-6)),
    fullAfter: used / 1000,
    retryAfter: Math.max(0, wait / 1000),
  }
}
