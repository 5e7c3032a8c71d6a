/** What a log may record of any error: where it was thrown, and nothing of its message. */
export interface ErrorSummary {
  readonly name: string
  /** Such as `ECONNREFUSED`. */
  readonly code?: string
  /** The stack trace without the message. */
  readonly stack?: string
  readonly cause?: ErrorSummary
}

/** Causes deeper than this are left out: an error may be its own cause. */
const maxDepth = 4

/**
 * Describes an error without its message, which may contain what a caller sent, or a secret. For errors that an author's
 * code throws.
 */
export function summarizeError(error: unknown, depth = 1): ErrorSummary {
  if (!(error instanceof Error)) return { name: typeof error }
  const { name, cause } = error
  const code = 'code' in error ? error.code : undefined
  const stack = framesOf(error)
  return {
    name: isWord(name) ? name : 'Error',
    ...(isWord(code) && { code }),
    ...(stack !== undefined && { stack }),
    ...(cause !== undefined && depth < maxDepth && { cause: summarizeError(cause, depth + 1) }),
  }
}

/** A type or a code, which has no spaces, unlike a sentence. */
function isWord(value: unknown): value is string {
  return typeof value === 'string' && /^[\w$.-]{1,64}$/.test(value)
}

/** The stack trace after the message. Undefined if it cannot be separated from the message. */
function framesOf({ message, stack }: Error): string | undefined {
  if (typeof stack !== 'string' || typeof message !== 'string') return undefined
  const start = stack.indexOf(message)
  const end = message === '' ? stack.indexOf('\n') : start + message.length
  if (start < 0 || end < 0 || stack[end] !== '\n') return undefined
  const frames = stack.slice(end + 1)
  return frames.split('\n').every((line) => /^\s+at /.test(line)) ? frames : undefined
}
