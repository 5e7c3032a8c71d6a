export interface Deadline {
  /** Aborts when the caller leaves, with its reason, and when the time is up, with the one that was given. */
  readonly signal: AbortSignal
  /** There is no hurry any more; the caller may still leave. */
  extend(): void
  release(): void
}

/** `AbortSignal.any` and `.timeout` keep what they are made of alive for as long as they last; this one lets go. */
export function withDeadline(caller: AbortSignal, milliseconds: number, expired: () => unknown): Deadline {
  const controller = new AbortController()
  const leave = () => controller.abort(caller.reason)
  if (caller.aborted) leave()
  caller.addEventListener('abort', leave)
  const isBounded = milliseconds < 2 ** 31
  const timer = isBounded ? setTimeout(() => controller.abort(expired()), milliseconds) : undefined
  const extend = () => clearTimeout(timer)
  return {
    signal: controller.signal,
    extend,
    release() {
      extend()
      caller.removeEventListener('abort', leave)
    },
  }
}
