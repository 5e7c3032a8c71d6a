import type { Clock } from '../protocol/clock.ts'

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
