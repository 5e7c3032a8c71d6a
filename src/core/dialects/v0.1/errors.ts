import type { JsonObject } from '../../base/json.ts'
import type { A2AError, ErrorCode } from '../../protocol/errors.ts'
import { tryRead } from '../../schema/schema.ts'
import { json, list, map, object, optional, string } from '../../schema/values.ts'
import type { Draft } from '../codec.ts'
import type { HttpError, WireError } from '../dialect.ts'
import { codeOfHttpStatus, sharedNumbers, toError, wireErrorIn } from '../errors.ts'

const unsupported = 'This operation is not supported'

const internal = 'Internal error'

const unavailable = 'Resource unavailable'

/** The schema of 0.1 fixes the message of each error code. The actual message goes into the data. */
export function encodeError(error: A2AError): WireError {
  const { code, message } = kinds[error.code]
  return { code, message, data: encodeData(error) }
}

/** A JSON-RPC response: 0.1 clients read nothing else. */
export function encodeHttpError(error: A2AError): HttpError {
  const body = { jsonrpc: '2.0', id: null, error: { ...encodeError(error) } }
  return { status: kinds[error.code].http, body }
}

/** Without a JSON-RPC error in the body, the HTTP status decides. */
export function decodeHttpError({ status, body }: HttpError): A2AError {
  const error = wireErrorIn(body)
  return error === undefined ? toError(codeOfHttpStatus(status), body.message, {}, body) : decodeError(error)
}

export function decodeError(error: WireError): A2AError {
  const { detail = error.message, retryAfter, ...data } = tryRead(ErrorData, error.data) ?? {}
  const details = typeof retryAfter === 'number' ? { ...data, retryAfter } : data
  return toError(codesByNumber.get(error.code) ?? 'internal', detail, details, error)
}

/** Numbers from -32006 on have another meaning in every later version. */
const kinds: Readonly<Record<ErrorCode, ErrorKind>> = {
  'parse-error': kind(-32700, 400, 'Invalid JSON payload'),
  'invalid-request': kind(-32600, 400, 'Request payload validation error'),
  'method-not-found': kind(-32601, 404, 'Method not found'),
  'invalid-params': kind(-32602, 400, 'Invalid parameters'),
  internal: kind(-32603, 500, internal),
  'task-not-found': kind(-32001, 404, 'Task not found'),
  'task-expired': kind(-32001, 404, 'Task not found'),
  'task-not-cancelable': kind(-32002, 409, 'Task cannot be canceled'),
  'push-not-supported': kind(-32003, 400, 'Push Notification is not supported'),
  'unsupported-operation': kind(-32004, 400, unsupported),
  'content-type-not-supported': kind(-32005, 415, 'Incompatible content types'),
  'streaming-not-supported': kind(-32006, 400, 'Streaming is not supported'),
  unauthenticated: kind(-32007, 401, 'Authentication required'),
  forbidden: kind(-32008, 403, 'Authorization failed'),
  'task-ended': kind(-32009, 409, 'Invalid task state'),
  'rate-limited': kind(-32010, 429, 'Rate limit exceeded'),
  unavailable: kind(-32011, 503, unavailable),
  timeout: kind(-32011, 504, unavailable),
  'extended-card-not-configured': kind(-32004, 400, unsupported),
  'extension-required': kind(-32004, 400, unsupported),
  'version-not-supported': kind(-32004, 400, unsupported),
  'invalid-agent-response': kind(-32603, 502, internal),
  'task-generation-mismatch': kind(-32602, 409, 'Invalid parameters'),
  conflict: kind(-32602, 409, 'Invalid parameters'),
  'payload-too-large': kind(-32600, 413, 'Request payload validation error'),
  'input-timeout': kind(-32050, 400, 'Input timeout'),
  'tool-failed': kind(-32051, 500, 'Tool execution failed'),
  'context-not-found': kind(-32052, 404, 'Context not found'),
}

interface ErrorKind {
  /** The JSON-RPC error code. */
  readonly code: number
  readonly message: string
  /** The HTTP status. */
  readonly http: number
}

function kind(code: number, http: number, message: string): ErrorKind {
  return { code, http, message }
}

function encodeData({ message, violations, metadata, retryAfter }: A2AError): JsonObject {
  const data: Draft = { detail: message }
  if (violations.length > 0) data.violations = violations.map(({ field, description }) => ({ field, description }))
  if (Object.keys(metadata).length > 0) data.metadata = metadata
  if (retryAfter !== undefined) data.retryAfter = retryAfter
  return data
}

/** What we write into the data. The data of other agents may be anything. */
const ErrorData = object({
  detail: optional(string()),
  violations: optional(list(object({ field: string(), description: string() }))),
  metadata: optional(map(string())),
  retryAfter: optional(json()),
})

const codesByNumber: ReadonlyMap<number, ErrorCode> = new Map([
  ...sharedNumbers,
  [-32006, 'streaming-not-supported'],
  [-32007, 'unauthenticated'],
  [-32008, 'forbidden'],
  [-32009, 'task-ended'],
  [-32010, 'rate-limited'],
  [-32011, 'unavailable'],
])
