import type { Clock } from '../protocol/clock.ts'

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
