import { defined } from '../core/base/json.ts'
import { BodyTooLarge, type Outgoing } from '../core/http/exchange.ts'
import { JsonError } from '../core/http/json.ts'
import { A2AError, type ErrorCode, StoreUnavailable } from '../core/protocol/errors.ts'
import type { ErrorBody, LoginScheme } from './contract.ts'

/** An answer of the API other than a success. */
export class OperatorFailure extends Error {
  override readonly name = 'OperatorFailure'
  readonly status: number
  readonly code: string
  readonly schemes: readonly LoginScheme[] | undefined
  readonly retryAfter: number | undefined

  constructor(status: number, code: string, message: string, options: FailureOptions = {}) {
    super(message, options)
    this.status = status
    this.code = code
    this.schemes = options.schemes
    this.retryAfter = options.retryAfter
  }
}

interface FailureOptions extends ErrorOptions {
  readonly schemes?: readonly LoginScheme[]
  readonly retryAfter?: number
}

export function notFound(message: string): OperatorFailure {
  return new OperatorFailure(404, 'not-found', message)
}

export function invalid(field: string, expected: string): OperatorFailure {
  return new OperatorFailure(400, 'invalid-params', `${field}: ${expected}`)
}

/** Answers with JSON, which only the page that requested it may use. */
export function jsonAnswer(value: unknown, status = 200, headers: Outgoing['headers'] = {}): Outgoing {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify(value),
  }
}

/** The answer to a request that failed. Undefined for unexpected errors, which the server logs. */
export function failureAnswer(error: unknown): Outgoing | undefined {
  if (error instanceof OperatorFailure) {
    const { status, code, message, schemes, retryAfter } = error
    return errorAnswer(status, defined({ code, message, schemes }), retryAfter)
  }
  if (error instanceof JsonError)
    return errorAnswer(400, { code: 'parse-error', message: `The body is ${error.message}.` })
  if (error instanceof BodyTooLarge) return errorAnswer(413, { code: 'too-large', message: error.message })
  if (!(error instanceof A2AError)) return undefined
  const { code, message, retryAfter } = error
  if (error instanceof StoreUnavailable) {
    return errorAnswer(503, { code: 'store-unavailable', message: 'The task log cannot be used just now.' }, 1)
  }
  return errorAnswer(statuses[code] ?? 500, { code, message }, retryAfter)
}

function errorAnswer(status: number, error: ErrorBody['error'], retryAfter?: number): Outgoing {
  return jsonAnswer({ error }, status, retryAfter === undefined ? {} : { 'retry-after': `${retryAfter}` })
}

/** Everything else is an error of the server. */
const statuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  'invalid-params': 400,
  'invalid-request': 400,
  'task-not-found': 404,
  'task-expired': 410,
  'task-not-cancelable': 409,
  'task-ended': 409,
  'unsupported-operation': 409,
  'push-not-supported': 409,
  'content-type-not-supported': 415,
  'payload-too-large': 413,
  conflict: 409,
  unauthenticated: 401,
  forbidden: 403,
  'rate-limited': 429,
  unavailable: 503,
}
