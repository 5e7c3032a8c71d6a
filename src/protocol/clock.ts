/** Time, as far as tasks and calls wait for it or measure it. Tests hand in one of their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  setTimeout(act: () => void, milliseconds: number): Timer
  setInterval(act: () => void, milliseconds: number): Timer
  /** Of both. */
  clearTimeout(timer: Timer | undefined): void
}

export type Timer = number | { ref?(): void; unref?(): void }

export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (act, milliseconds) => setTimeout(act, milliseconds),
  setInterval: (act, milliseconds) => setInterval(act, milliseconds),
  // Each platform gets back what it gave.
  clearTimeout: (timer) => clearTimeout(timer as number | undefined),
}
