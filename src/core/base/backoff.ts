/** Exponential delays between attempts, in milliseconds. */
export interface Delays {
  /** Before the second attempt; each later delay is twice as long. */
  readonly minDelay: number
  readonly maxDelay: number
}

export interface Backoff extends Delays {
  /** Consecutive failures before the caller gives up. */
  readonly tries: number
}

/** The delay after this many consecutive failures: half fixed, half random, so that callers do not retry in step. */
export function delayAfter(failures: number, { minDelay, maxDelay }: Delays, random = Math.random): number {
  const delay = Math.min(maxDelay, minDelay * 2 ** Math.max(0, failures - 1))
  return delay / 2 + (delay / 2) * random()
}
