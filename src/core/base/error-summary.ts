import { defined } from './json.ts'
/** What a log may record of any error: where it was thrown, and nothing of its message. */
export interface ErrorSummary {
  readonly name: string
  /** Such as `ECONNREFUSED`. */
  readonly code?: string
  /** The stack trace without the message. */
  readonly stack?: string
  readonly cause?: ErrorSummary
}

/** What a log records of an error for the operator: everything but secrets. A plain object, so that any logger writes it. */
export interface ErrorDescription extends Omit<ErrorSummary, 'cause'> {
  readonly message: string
  /** The HTTP status, if the error is about a response. */
  readonly status?: number
  readonly cause?: ErrorDescription
}

/** The length after which a message or a stack trace is cut. */
const maxLength = 8_000

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
  return defined({
    name: isWord(name) ? name : 'Error',
    code: isWord(code) ? code : undefined,
    stack,
    cause: cause !== undefined && depth < maxDepth ? summarizeError(cause, depth + 1) : undefined,
  })
}

/**
 * Describes an error with its message, for the operator. Members other than the usual ones are left out: errors of model
 * providers carry the request, and with it what callers sent.
 */
export function describeError(error: unknown, depth = 1): ErrorDescription {
  if (!(error instanceof Error)) return { name: typeof error, message: redactSecrets(textOf(error)) }
  const { name, message, stack } = error
  const { code, status, statusCode } = error as { code?: unknown; status?: unknown; statusCode?: unknown }
  const httpStatus = statusCode ?? status
  // If several addresses were tried, each has its own error.
  const cause = error.cause ?? (error instanceof AggregateError ? error.errors[0] : undefined)
  return defined({
    name: String(name),
    message: redactSecrets(String(message)),
    code: isWord(code) ? code : undefined,
    status: typeof httpStatus === 'number' ? httpStatus : undefined,
    stack: typeof stack === 'string' ? redactSecrets(stack) : undefined,
    cause: cause !== undefined && depth < maxDepth ? describeError(cause, depth + 1) : undefined,
  })
}

/** Removes credentials from a text: of URLs, of `Authorization` headers, tokens and keys of well-known forms. */
export function redactSecrets(text: string): string {
  const short = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return secretPatterns.reduce((redacted, [pattern, replacement]) => redacted.replace(pattern, replacement), short)
}

const secretPatterns: readonly (readonly [RegExp, string])[] = [
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@?#]+@/gi, '$1***@'],
  [
    /([?&;][\w.-]{0,40}(?:token|key|secret|passw|signature|sig|code|auth|credential)[\w.-]{0,40}=)[^&\s"'#;]+/gi,
    '$1***',
  ],
  [/\b(Bearer|Basic|DPoP)\s+(?=\S*[\d=])[\w.~+/=-]{6,}/gi, '$1 ***'],
  [/\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, '***'],
  [/\b(?:sk|pk|rk)-[\w-]{6,}|\b(?:gh[pos]_|xox[abp]-|AKIA)[\w-]{12,}/g, '***'],
]

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? String(value)
  } catch {
    return String(value)
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
