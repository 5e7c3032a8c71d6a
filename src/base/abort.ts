import { type Clock, systemClock, systemTimers, type Timers } from './clock.ts'

export interface Deadline {
  /** Aborts when the caller leaves, with its reason, and when the time is up, with the one that was given. */
  readonly signal: AbortSignal
  /** There is no hurry any more; the caller may still leave. */
  extend(): void
  release(): void
}

/** `AbortSignal.any` and `.timeout` keep what they are made of alive for as long as they last; this one lets go. */
export function withDeadline(
  caller: AbortSignal,
  milliseconds: number,
  expired: () => unknown,
  timers: Timers = systemTimers,
): Deadline {
  const controller = new AbortController()
  const leave = () => controller.abort(caller.reason)
  if (caller.aborted) leave()
  caller.addEventListener('abort', leave)
  const isBounded = milliseconds < 2 ** 31
  const timer = isBounded ? timers.setTimeout(() => controller.abort(expired()), milliseconds) : undefined
  const extend = () => timers.clearTimeout(timer)
  return {
    signal: controller.signal,
    extend,
    release() {
      extend()
      caller.removeEventListener('abort', leave)
    },
  }
}

/** Settles as `working` does, unless the signal is faster: not everything that works heeds it. */
export async function unlessAborted<T>(working: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: left, reject } = Promise.withResolvers<never>()
  const leave = () => reject(signal.reason)
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave)
  try {
    return await Promise.race([working, left])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

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
