import { type Clock, isTimeout, systemClock, type Timers } from './clock.ts'

export interface Deadline {
  /** Aborts with the caller's reason when the caller aborts, and with the reason of `expired` when the time is up. */
  readonly signal: AbortSignal
  /** Removes the time limit; the caller may still abort. */
  extend(): void
  release(): void
}

/**
 * Like `AbortSignal.any` with `AbortSignal.timeout`, which keep their sources alive until they abort; this one releases
 * them.
 */
export function withDeadline(
  caller: AbortSignal | undefined,
  milliseconds: number,
  expired: () => unknown,
  timers: Timers = systemClock,
): Deadline {
  const controller = new AbortController()
  const abort = () => controller.abort(caller?.reason)
  if (caller?.aborted) abort()
  caller?.addEventListener('abort', abort)
  const timer = isTimeout(milliseconds) ? timers.setTimeout(() => controller.abort(expired()), milliseconds) : undefined
  const extend = () => timers.clearTimeout(timer)
  return {
    signal: controller.signal,
    extend,
    release() {
      extend()
      caller?.removeEventListener('abort', abort)
    },
  }
}

/** Settles like `work`, or rejects with the signal's reason if that aborts first: not all work observes its signal. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Settles like `work`, or rejects with the error of `expired` when the time is up. The work itself continues. */
export async function withTimeout<T>(
  work: Promise<T>,
  milliseconds: number,
  expired: () => Error,
  timers: Timers = systemClock,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = timers.setTimeout(() => reject(expired()), milliseconds)
  try {
    return await Promise.race([work, late])
  } finally {
    timers.clearTimeout(timer)
  }
}

/** A signal that aborts with the first of several signals, or after a timeout. */
export interface LinkedSignal {
  readonly signal: AbortSignal
  abort(): void
  /** Removes the listeners from the source signals, which may live as long as the process. */
  release(): void
}

export function linkSignals(
  signals: readonly AbortSignal[],
  timeout?: number,
  clock: Clock = systemClock,
): LinkedSignal {
  const linked = new AbortController()
  // An explicit reason, because the default one is an error with a stack trace.
  const abort = () => linked.abort('released')
  const timer = timeout === undefined ? undefined : clock.setTimeout(abort, timeout)
  for (const signal of signals) signal.addEventListener('abort', abort)
  if (signals.some(({ aborted }) => aborted)) abort()
  return {
    signal: linked.signal,
    abort,
    release() {
      clock.clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', abort)
    },
  }
}
