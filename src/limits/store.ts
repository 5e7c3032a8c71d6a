/** Counts how much is used, in one process or for many. */
export interface LimitStore {
  /** Takes one of `limit` uses in `window` seconds, which come back steadily. */
  take(key: string, rate: Rate): Standing | Promise<Standing>
  /** Takes one of so many places; undefined if all are taken. */
  hold(key: string, places: number): Release | undefined | Promise<Release | undefined>
}

export interface Rate {
  readonly limit: number
  /** Seconds. */
  readonly window: number
}

/** How a caller stands after a use. */
export interface Standing {
  readonly isAllowed: boolean
  readonly remaining: number
  /** Seconds until all uses are back. */
  readonly fullAfter: number
  /** Seconds until there is a use again; 0 if there is one. */
  readonly retryAfter: number
}

export type Release = () => void

/**
 * A rate needs one number to be remembered: when all uses will be back, in milliseconds (the generic cell rate
 * algorithm). Gives undefined if there is no use left.
 */
export function nextFull(full: number, now: number, { limit, window }: Rate): number | undefined {
  const next = Math.max(full, now) + (window * 1000) / limit
  // What was added up by fractions may be a little more than the whole.
  return next > now + window * 1000 + 0.01 ? undefined : next
}

export function standingAt(full: number, now: number, { limit, window }: Rate, isAllowed: boolean): Standing {
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
