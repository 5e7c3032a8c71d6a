/** Timers cannot wait for longer than 24 days: a long time is waited for in pieces. */
const longest = 24 * 60 * 60 * 1000

export type Timer = number | { ref?(): void; unref?(): void }

/** Time, as far as tasks and calls wait for it or measure it. Tests hand in one of their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  setTimeout(act: () => void, milliseconds: number): Timer
  setInterval(act: () => void, milliseconds: number): Timer
  /** Of both. */
  clearTimeout(timer: Timer | undefined): void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (act, milliseconds) => setTimeout(act, milliseconds),
  setInterval: (act, milliseconds) => setInterval(act, milliseconds),
  // Each platform gets back what it gave.
  clearTimeout: (timer) => clearTimeout(timer as number | undefined),
}

/** What waits. Tests may hand in others than those of the platform. */
export interface Timers {
  setTimeout(act: () => void, milliseconds: number): unknown
  clearTimeout(timer: unknown): void
}

export const systemTimers: Timers = {
  setTimeout: (act, milliseconds) => setTimeout(act, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as number | undefined),
}

/** Calls back at a moment (milliseconds since 1970), however far away. Gives the means to call it off. */
export function setAlarm(clock: Clock, moment: number, ring: () => void): () => void {
  let timer: Timer | undefined
  function wait(): void {
    const left = Math.max(0, moment - clock.now())
    timer = clock.setTimeout(left > longest ? wait : ring, Math.min(left, longest))
  }
  wait()
  return () => clock.clearTimeout(timer)
}

/** Resolves after that time, or as soon as the signal aborts. */
export function pause(milliseconds: number, signal: AbortSignal, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      clock.clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = clock.setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
  })
}

/** Waits, but not longer than the signal lets it. */
export function sleep(milliseconds: number, signal: AbortSignal, clock: Clock): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clock.clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.setTimeout(done, milliseconds)
    signal.addEventListener('abort', done)
  })
}
