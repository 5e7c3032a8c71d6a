import { BoundedMap } from '../base/bounded-map.ts'
import { aFunction, checkOptions, isAbove } from '../base/options.ts'

export interface RateLimit {
  /** Uses within a window. */
  readonly limit: number
  /** Length of the window in seconds. */
  readonly window: number
}

/** The state of a rate after a use. */
export interface RateState {
  readonly isAllowed: boolean
  readonly remaining: number
  /** Seconds until all uses are available again. */
  readonly fullAfter: number
  /** Seconds until the next use is available; 0 if one is. */
  readonly retryAfter: number
}

export type Release = () => void | Promise<void>

/** Counts uses, in one process or for several. */
export interface LimitStore {
  /** Takes one of `limit` uses in `window` seconds. Uses become available again at a steady rate. */
  take(key: string, rate: RateLimit): RateState | Promise<RateState>
  /**
   * Adds an amount that was used, even beyond the limit, because it is known only afterwards. The state says whether
   * anything is left. An amount of 0 only reads the state. Needed for limits of tokens and cost.
   */
  charge?(key: string, rate: RateLimit, amount: number): RateState | Promise<RateState>
  /** Takes one of this many slots until it is released. Undefined if all are taken. */
  hold(key: string, slots: number): Release | undefined | Promise<Release | undefined>
}

export interface MemoryLimitsOptions {
  /** Callers whose rates are stored. Beyond that, unused ones start anew. Defaults to 100,000. */
  readonly callers?: number
  readonly now?: () => number
}

/** Counts in this process. */
export function createMemoryLimits(options: MemoryLimitsOptions = {}): LimitStore {
  checkOptions('createMemoryLimits', options, { callers: isAbove(0), now: aFunction })
  const { callers = 100_000, now = Date.now } = options
  /** The generic cell rate algorithm stores one number per rate: when all uses will be available, in milliseconds. */
  const fullTimes = new BoundedMap<string, number>(callers)
  const takenSlots = new Map<string, number>()
  return {
    take(key, rate) {
      const moment = now()
      const fullTime = fullTimes.get(key) ?? 0
      const next = nextFullTime(fullTime, moment, rate)
      fullTimes.set(key, next ?? fullTime)
      return rateStateAt(next ?? fullTime, moment, rate, next !== undefined)
    },
    charge(key, rate, amount) {
      const moment = now()
      const fullTime = Math.max(fullTimes.get(key) ?? 0, moment) + (amount * rate.window * 1000) / rate.limit
      if (amount > 0) fullTimes.set(key, fullTime)
      return chargedState(fullTime - moment, rate)
    },
    hold(key, slots) {
      const taken = takenSlots.get(key) ?? 0
      if (taken >= slots) return undefined
      takenSlots.set(key, taken + 1)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        const left = (takenSlots.get(key) ?? 1) - 1
        if (left > 0) takenSlots.set(key, left)
        else takenSlots.delete(key)
      }
    },
  }
}

/** The state of a rate whose uses are available again after `used` milliseconds. Nothing is left once that is a window. */
function chargedState(used: number, { limit, window }: RateLimit): RateState {
  const left = window * 1000 - used
  return {
    // The sum of fractions may differ slightly.
    isAllowed: left > 0.01,
    remaining: Math.max(0, Math.floor((left / (window * 1000)) * limit + 1e-6)),
    fullAfter: used / 1000,
    retryAfter: Math.max(0, -left / 1000),
  }
}

/** Undefined if no use is available. */
function nextFullTime(fullTime: number, now: number, { limit, window }: RateLimit): number | undefined {
  const next = Math.max(fullTime, now) + (window * 1000) / limit
  // The sum of fractions may exceed the window slightly.
  return next > now + window * 1000 + 0.01 ? undefined : next
}

function rateStateAt(fullTime: number, now: number, { limit, window }: RateLimit, isAllowed: boolean): RateState {
  const interval = (window * 1000) / limit
  const used = Math.max(0, fullTime - now)
  const wait = used + interval - window * 1000
  return {
    isAllowed,
    remaining: Math.max(0, Math.floor((window * 1000 - used) / interval + 1e-6)),
    fullAfter: used / 1000,
    retryAfter: Math.max(0, wait / 1000),
  }
}
