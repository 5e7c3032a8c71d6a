const contextNames = ['hint', 'reason', 'dialect', 'binding', 'url', 'status'] as const satisfies (keyof ErrorContext)[]

/** What a client knows of a failed call besides the failure: with whom, and how it can be put right. */
export interface ErrorContext {
  /** What to do about it, for whoever set up the agent or the call. */
  readonly hint?: string
  /** The mistake that was recognised, as a word for programs. */
  readonly reason?: string
  /** The dialect in which the agent was spoken to. */
  readonly dialect?: string
  readonly binding?: string
  readonly url?: string
  /** Of HTTP. */
  readonly status?: number
}

/** The same error, with more said of its context. */
export function withContext(error: A2AError, context: ErrorContext): A2AError {
  const known = Object.fromEntries(contextNames.map((name) => [name, context[name] ?? error[name]]))
  const { code, message, cause, violations, metadata, retryAfter, challenge, stack } = error
  const options = { cause, violations, metadata, retryAfter, challenge, ...known }
  return Object.assign(new A2AError(code, message, options), { stack })
}

export function invalidParams(field: string, description: string): A2AError {
  return new A2AError('invalid-params', `${field}: ${description}`, { violations: [{ field, description }] })
}

/** For the one whose task it was. `ended`: milliseconds since 1970. */
export function taskExpired(taskId: string, ended: number): A2AError {
  const metadata = { ended: new Date(ended).toISOString() }
  const text = `Task ${taskId} has expired: it ended on ${metadata.ended}, and what was in it is removed.`
  return new A2AError('task-expired', text, { metadata })
}

export function taskNotFound(taskId: string): A2AError {
  return new A2AError('task-not-found', `There is no task ${taskId}, or it is not yours.`)
}

/** Everything that can be wrong, as one closed list. Each dialect and transport turns a code into its own numbers. */
export type ErrorCode =
  | 'parse-error'
  | 'invalid-request'
  | 'method-not-found'
  | 'invalid-params'
  | 'internal'
  | 'task-not-found'
  /** It was there, has ended, and its time is over: what is left of it is that it was. */
  | 'task-expired'
  | 'task-not-cancelable'
  | 'task-ended'
  | 'push-not-supported'
  | 'unsupported-operation'
  | 'streaming-not-supported'
  | 'content-type-not-supported'
  | 'invalid-agent-response'
  | 'extended-card-not-configured'
  | 'extension-required'
  | 'version-not-supported'
  | 'conflict'
  | 'payload-too-large'
  | 'unauthenticated'
  | 'forbidden'
  | 'rate-limited'
  | 'unavailable'
  | 'timeout'
  | 'input-timeout'
  | 'tool-failed'
  | 'context-not-found'

export interface FieldViolation {
  /** Where, as a path: `message.parts[0].raw`. */
  readonly field: string
  /** What was expected, and what came. */
  readonly description: string
}

export interface A2AErrorOptions extends ErrorContext {
  /** For our own eyes: never sent to a caller. */
  readonly cause?: unknown
  readonly violations?: readonly FieldViolation[]
  /** Facts a program can use, such as the versions that are supported. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Seconds after which a new try makes sense. */
  readonly retryAfter?: number
  /** How to prove who one is, as `WWW-Authenticate` says it (RFC 9110 §11.6.1). */
  readonly challenge?: string
}

/** The only error that a caller sees. Its message is written for the caller. */
export class A2AError extends Error implements ErrorContext {
  override readonly name = 'A2AError'
  readonly code: ErrorCode
  readonly violations: readonly FieldViolation[]
  readonly metadata: Readonly<Record<string, string>>
  readonly retryAfter: number | undefined
  readonly challenge: string | undefined
  declare readonly hint?: string
  declare readonly reason?: string
  declare readonly dialect?: string
  declare readonly binding?: string
  declare readonly url?: string
  declare readonly status?: number

  constructor(code: ErrorCode, message: string, options: A2AErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.code = code
    this.violations = options.violations ?? []
    this.metadata = options.metadata ?? {}
    this.retryAfter = options.retryAfter
    this.challenge = options.challenge
    // Only what is given, so that an error without a client behind it looks like one.
    for (const name of contextNames) if (options[name] !== undefined) Object.assign(this, { [name]: options[name] })
  }
}
