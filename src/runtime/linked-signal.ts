import { type Clock, systemClock } from '../protocol/clock.ts'

/** A signal that aborts with the first of several, or after a while, and that can be let go of. */
export interface LinkedSignal {
  readonly signal: AbortSignal
  /** Leaves nothing behind at the signals it listened to, which may live as long as the process. */
  release(): void
}

export function linkSignals(signals: readonly AbortSignal[], after?: number, clock: Clock = systemClock): LinkedSignal {
  const linked = new AbortController()
  // With a reason of its own, for the default one is an error with a stack.
  const abort = () => linked.abort('released')
  const timer = after === undefined ? undefined : clock.setTimeout(abort, after)
  for (const signal of signals) signal.addEventListener('abort', abort)
  if (signals.some(({ aborted }) => aborted)) abort()
  return {
    signal: linked.signal,
    release() {
      clock.clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', abort)
    },
  }
}
