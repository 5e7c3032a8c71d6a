import { systemTimers, type Timers } from './timers.ts'

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
