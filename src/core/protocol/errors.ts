import { describeError, type ErrorDescription } from '../base/error-summary.ts'
import { defined } from '../base/json.ts'

const contextNames = ['hint', 'reason', 'dialect', 'binding', 'url', 'status'] as const satisfies (keyof ErrorContext)[]

const optionNames = [...contextNames, 'cause', 'violations', 'metadata', 'retryAfter', 'challenge'] as const

/** What the client adds to the error of a failed call: the endpoint that it called, and how to fix the failure. */
export interface ErrorContext {
  /** What to do about the error, for the developer or operator of the agent or the client. */
  readonly hint?: string
  /** The kind of mistake that the client recognised, as a constant for programs. */
  readonly reason?: string
  /** The dialect of the call. */
  readonly dialect?: string
  readonly binding?: string
  readonly url?: string
  /** The HTTP status of the response. */
  readonly status?: number
}

/** Returns a copy of the error with more context, or other details. Members that `changes` leaves out keep their values. */
export function withContext(error: A2AError, changes: ErrorChanges): A2AError {
  const { code = error.code, message = error.message } = changes
  // The stack of the original error, which begins with its message.
  const stack = error.stack?.replace(error.message, () => message)
  return Object.assign(createError(code, message, optionsOf(error, changes)), { stack })
}

function optionsOf(error: A2AError, changes: ErrorChanges = {}): A2AErrorOptions {
  return Object.fromEntries(optionNames.map((name) => [name, changes[name] ?? error[name]]))
}

type ErrorChanges = A2AErrorOptions & Partial<Pick<A2AError, 'code' | 'message'>>

/** An error of the class that belongs to its code. */
export function createError(code: ErrorCode, message: string, options?: A2AErrorOptions): A2AError {
  return new (code === 'task-generation-mismatch' ? GenerationMismatch : A2AError)(code, message, options)
}

/** An `invalid-params` error for one field. */
export function invalidParams(field: string, description: string): A2AError {
  return new A2AError('invalid-params', `${field}: ${description}`, { violations: [{ field, description }] })
}

/** The error for a task whose retention has passed; only its owner gets it. `ended` is in milliseconds since 1970. */
export function taskExpired(taskId: string, ended: number): A2AError {
  const metadata = { ended: new Date(ended).toISOString() }
  const text = `Task ${taskId} has expired: it ended on ${metadata.ended}, and what was in it is removed.`
  return new A2AError('task-expired', text, { metadata })
}

/** The same error for a task of another owner: it must not reveal that the task exists. */
export function taskNotFound(taskId: string): A2AError {
  return new A2AError('task-not-found', `There is no task ${taskId}, or it is not yours.`)
}

/** The error for a message that was written for another revision of its task. A2A calls the revision its generation. */
export function generationMismatch(taskId: string, expected: number, current: number): A2AError {
  const text = `Task ${taskId} is at generation ${current}, not at ${expected}: get the task, and decide again.`
  const metadata = { taskId, expectedGeneration: `${expected}`, currentGeneration: `${current}` }
  return createError('task-generation-mismatch', text, { metadata })
}

/** The error for the operator: of a store failure its cause, which callers never see. */
export function operatorError(error: unknown): unknown {
  return error instanceof StoreUnavailable ? error.cause : error
}

/** What the operator's log records of an error that is not the agent's. */
export function loggedError(error: unknown): ErrorDescription {
  return describeError(operatorError(error))
}

/** The kind of an error, as a closed list. Each dialect and transport maps a code to its own numbers. */
export type ErrorCode =
  | 'parse-error'
  | 'invalid-request'
  | 'method-not-found'
  | 'invalid-params'
  | 'internal'
  | 'task-not-found'
  /** The task existed and ended, and its retention has passed. */
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
  /** The message was written for another revision of its task. */
  | 'task-generation-mismatch'
  | 'payload-too-large'
  | 'unauthenticated'
  | 'forbidden'
  | 'rate-limited'
  | 'unavailable'
  | 'timeout'
  | 'input-timeout'
  | 'tool-failed'
  | 'context-not-found'

/** The errors by which an agent rejects a message, as opposed to those by which its work fails. */
const rejections: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid-request',
  'invalid-params',
  'unsupported-operation',
  'content-type-not-supported',
  'invalid-agent-response',
  'extension-required',
  'payload-too-large',
  'unauthenticated',
  'forbidden',
  'rate-limited',
  'conflict',
  'task-not-found',
  'context-not-found',
])

/** Makes any error one by which an agent rejects a message, if it is thrown before the agent has touched the task. */
export function asRejection(error: A2AError): A2AError {
  const { code, message, stack } = error
  return Object.assign(new Rejection(code, message, optionsOf(error)), { stack })
}

/** Whether an agent that throws the error rejects the message. Errors of a call that the agent made have context. */
export function isRejection(error: unknown): error is A2AError {
  if (!(error instanceof A2AError)) return false
  if (error instanceof Rejection) return true
  if (!rejections.has(error.code)) return false
  return contextNames.every((name) => error[name] === undefined)
}

/** An error that is stored for its caller, who may read it in another process. It has no cause. */
export type StoredError = Pick<A2AError, 'code' | 'message'> &
  Pick<A2AErrorOptions, 'violations' | 'metadata' | 'retryAfter' | 'challenge'>

export function toStoredError({ code, message, violations, metadata, retryAfter, challenge }: A2AError): StoredError {
  return defined({
    code,
    message,
    violations: violations.length > 0 ? violations : undefined,
    metadata: Object.keys(metadata).length > 0 ? metadata : undefined,
    retryAfter,
    challenge,
  })
}

export function fromStoredError({ code, message, ...options }: StoredError): A2AError {
  return new AgentError(code, message, options)
}

/** Whether an agent has written the error. Its text may repeat what a caller sent, so no log has it. */
export function isAgentError(error: A2AError): boolean {
  return error instanceof AgentError
}

/** A field of a request that is wrong. */
export interface FieldViolation {
  /** The path of the field, such as `message.parts[0].raw`. */
  readonly field: string
  /** The expected and the actual value. */
  readonly description: string
}

/** The optional parts of an `A2AError`. */
export interface A2AErrorOptions extends ErrorContext {
  /** The underlying error, for the operator: never sent to a caller. */
  readonly cause?: unknown
  readonly violations?: readonly FieldViolation[]
  /** Machine-readable facts, such as the supported versions. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Seconds after which a retry may succeed. */
  readonly retryAfter?: number
  /** The value of the `WWW-Authenticate` header (RFC 9110 §11.6.1). */
  readonly challenge?: string
}

/**
 * An error of the protocol: the only kind of error that is sent to a caller. Its message is written for the caller.
 *
 * @example
 * throw new A2AError('invalid-params', 'amount: expected a positive number')
 */
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
    // Sets only the members that have a value, so that a server-side error has no client members.
    for (const name of contextNames) if (options[name] !== undefined) Object.assign(this, { [name]: options[name] })
  }
}

/** An error by which an agent rejects a message, whatever its code. */
class Rejection extends A2AError {}

/** An error that an agent has written, read from the log. */
class AgentError extends A2AError {}

/**
 * The error of a message that was sent with `ifGeneration`, and whose task has changed since. The message was not
 * accepted.
 *
 * @example
 * client.send('Blue', { ifGeneration: 3 }).catch((error: unknown) => {
 *   if (error instanceof GenerationMismatch) console.log(`the task has moved on to ${error.current}`)
 * })
 */
export class GenerationMismatch extends A2AError {
  /** The generation that the sender expected. */
  get expected(): number {
    return Number(this.metadata.expectedGeneration)
  }

  /** The generation of the task. */
  get current(): number {
    return Number(this.metadata.currentGeneration)
  }
}

/** Seconds after which a caller may try again when the store failed. */
const storeRetryAfter = 5

/**
 * The error of a store that cannot be used at the moment, because of a full disk, a locked file or an unreachable
 * database. Every log throws it: callers get `unavailable` (503), and the operator's log gets the cause.
 */
export class StoreUnavailable extends A2AError {
  declare readonly cause: Error

  constructor(cause: Error) {
    const text = 'The store of this server cannot be used at the moment. Try again in a few seconds.'
    super('unavailable', text, { cause, retryAfter: storeRetryAfter })
  }
}
