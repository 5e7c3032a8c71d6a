import type { Clock, Timer } from '../protocol/clock.ts'

/** Timers cannot wait for longer than 24 days: a long time is waited for in pieces. */
const longest = 24 * 60 * 60 * 1000

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
