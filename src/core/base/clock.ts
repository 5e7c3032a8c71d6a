export type Timer = number | { ref?(): void; unref?(): void }

/** The time source and timers that tasks and calls use. Tests pass a virtual one. */
export interface Clock {
  /** Milliseconds since 1970. It jumps when the clock of the machine is set. */
  now(): number
  /**
   * Milliseconds since some moment. It neither goes back nor jumps, so leases go by it. Processes that share leases share
   * the moment. Without it, leases go by `now`, as long as that moves forward.
   */
  monotonic?(): number
  setTimeout(act: () => void, milliseconds: number): Timer
  setInterval(act: () => void, milliseconds: number): Timer
  /** Clears timeouts and intervals. */
  clearTimeout(timer: Timer | undefined): void
}

export type Timers = Pick<Clock, 'setTimeout' | 'clearTimeout'>

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (act, milliseconds) => setTimeout(act, milliseconds),
  setInterval: (act, milliseconds) => setInterval(act, milliseconds),
  // Every platform gets back the kind of timer it returned.
  clearTimeout: (timer) => clearTimeout(timer as number | undefined),
}

/** The time that leases go by: it never goes back. */
export function monotonicOf(clock: Clock): () => number {
  if (clock.monotonic) return clock.monotonic.bind(clock)
  let last = clock.now()
  let offset = 0
  return () => {
    const time = clock.now() + offset
    if (time < last) offset += last - time // the clock was set back
    last = Math.max(last, time)
    return last
  }
}

/** Whether a timer can hold a delay, in milliseconds. It fires at once after a longer one. */
export function isTimeout(milliseconds: number): boolean {
  return milliseconds < 2 ** 31
}

/** Timers hold at most 2³¹ − 1 ms, about 24.8 days, so a longer wait is split. */
const longestTimeout = 24 * 60 * 60 * 1000

/** Calls back at a moment (milliseconds since 1970), however far away. Returns a function that cancels the alarm. */
export function setAlarm(clock: Clock, moment: number, ring: () => void): () => void {
  let timer: Timer | undefined
  function wait(): void {
    const left = Math.max(0, moment - clock.now())
    timer = clock.setTimeout(left > longestTimeout ? wait : ring, Math.min(left, longestTimeout))
  }
  wait()
  return () => clock.clearTimeout(timer)
}

/** Resolves in the next turn of the event loop: after all code that continues in this one. */
export function nextTurn(): Promise<void> {
  // Browsers have no `setImmediate`.
  return new Promise((resolve) => void (globalThis.setImmediate ?? setTimeout)(resolve))
}

/** Resolves after this time or when the signal aborts, whichever comes first. */
export function sleep(milliseconds: number, signal: AbortSignal, clock: Clock): Promise<void> {
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

/** An unreferenced timer does not keep a Node process alive. */
export function setReferenced(timer: Timer | undefined, isReferenced: boolean): void {
  if (typeof timer !== 'object') return
  if (isReferenced) timer.ref?.()
  else timer.unref?.()
}
