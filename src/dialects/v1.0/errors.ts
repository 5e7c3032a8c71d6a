import type { JsonObject } from '../../base/json.ts'
import type { A2AError, ErrorCode } from '../../protocol/errors.ts'
import type { HttpError, WireError } from '../dialect.ts'

const precondition = 'FAILED_PRECONDITION'

export function encodeError(error: A2AError): WireError {
  const { code } = kinds[error.code]
  const details = detailsOf(error)
  return details.length === 0 ? { code, message: error.message } : { code, message: error.message, data: details }
}

/** As `google.rpc.Status`, in the statuses of 1.0.1 (§5.4, §11.6). */
export function encodeHttpError(error: A2AError): HttpError {
  return httpErrorOf(error, kinds[error.code])
}

/** The same in the statuses of 1.0.0, which 1.0.1 changed. */
export function encodeFirstHttpError(error: A2AError): HttpError {
  return httpErrorOf(error, { ...kinds[error.code], ...firstStatuses[error.code] })
}

const kinds: Readonly<Record<ErrorCode, ErrorKind>> = {
  'parse-error': plain(-32700, 400, 'INVALID_ARGUMENT'),
  'invalid-request': plain(-32600, 400, 'INVALID_ARGUMENT'),
  'method-not-found': plain(-32601, 404, 'UNIMPLEMENTED'),
  'invalid-params': plain(-32602, 400, 'INVALID_ARGUMENT'),
  internal: plain(-32603, 500, 'INTERNAL'),
  'task-not-found': named(-32001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'),
  'task-expired': own(-32001, 404, 'NOT_FOUND', 'TASK_EXPIRED'),
  'task-not-cancelable': named(-32002, 400, precondition, 'TASK_NOT_CANCELABLE'),
  'push-not-supported': named(-32003, 400, precondition, 'PUSH_NOTIFICATION_NOT_SUPPORTED'),
  'unsupported-operation': named(-32004, 400, precondition, 'UNSUPPORTED_OPERATION'),
  'streaming-not-supported': named(-32004, 400, precondition, 'UNSUPPORTED_OPERATION'),
  'task-ended': named(-32004, 400, precondition, 'UNSUPPORTED_OPERATION'),
  'content-type-not-supported': named(-32005, 400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED'),
  'invalid-agent-response': named(-32006, 500, 'INTERNAL', 'INVALID_AGENT_RESPONSE'),
  'extended-card-not-configured': named(-32007, 400, precondition, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'),
  'extension-required': named(-32008, 400, precondition, 'EXTENSION_SUPPORT_REQUIRED'),
  'version-not-supported': named(-32009, 400, precondition, 'VERSION_NOT_SUPPORTED'),
  conflict: own(-32602, 409, 'ABORTED', 'CONFLICT'),
  'payload-too-large': own(-32600, 413, 'RESOURCE_EXHAUSTED', 'PAYLOAD_TOO_LARGE'),
  unauthenticated: own(-31401, 401, 'UNAUTHENTICATED', 'UNAUTHENTICATED'),
  forbidden: own(-31403, 403, 'PERMISSION_DENIED', 'FORBIDDEN'),
  'rate-limited': own(-32053, 429, 'RESOURCE_EXHAUSTED', 'RATE_LIMITED'),
  unavailable: own(-32603, 503, 'UNAVAILABLE', 'UNAVAILABLE'),
  timeout: own(-32603, 504, 'DEADLINE_EXCEEDED', 'TIMEOUT'),
  'input-timeout': own(-32050, 400, 'DEADLINE_EXCEEDED', 'INPUT_TIMEOUT'),
  'tool-failed': own(-32051, 500, 'INTERNAL', 'TOOL_EXECUTION_FAILED'),
  'context-not-found': own(-32052, 404, 'NOT_FOUND', 'CONTEXT_NOT_FOUND'),
}

interface ErrorKind {
  /** Of JSON-RPC. */
  readonly code: number
  readonly http: number
  /** Of gRPC, by name. */
  readonly status: string
  /** Of `ErrorInfo`; what JSON-RPC itself defines has none. */
  readonly reason?: string
  readonly domain?: string
}

function plain(code: number, http: number, status: string): ErrorKind {
  return { code, http, status }
}

function named(code: number, http: number, status: string, reason: string): ErrorKind {
  return { code, http, status, reason, domain: 'a2a-protocol.org' }
}

/** For what A2A has no word for. */
function own(code: number, http: number, status: string, reason: string): ErrorKind {
  return { code, http, status, reason, domain: 'parley' }
}

/** Objects of `google.rpc`, the same in every transport of A2A 1.0 (§3.3.2). */
function detailsOf({ code, metadata, violations, retryAfter }: A2AError): readonly JsonObject[] {
  const { reason, domain } = kinds[code]
  const details: JsonObject[] = []
  if (reason !== undefined && domain !== undefined) {
    const info = { '@type': typeUrl('ErrorInfo'), reason, domain }
    details.push(Object.keys(metadata).length === 0 ? info : { ...info, metadata })
  }
  if (violations.length > 0) {
    const fieldViolations = violations.map(({ field, description }) => ({ field, description }))
    details.push({ '@type': typeUrl('BadRequest'), fieldViolations })
  }
  if (retryAfter !== undefined) {
    details.push({ '@type': typeUrl('RetryInfo'), retryDelay: `${Number(retryAfter.toFixed(3))}s` })
  }
  return details
}

function typeUrl(name: string): string {
  return `type.googleapis.com/google.rpc.${name}`
}

function httpErrorOf(error: A2AError, { http, status }: Pick<ErrorKind, 'http' | 'status'>): HttpError {
  const details = detailsOf(error)
  const told = { code: http, status, message: error.message }
  return { status: http, body: { error: details.length === 0 ? told : { ...told, details } } }
}

const firstStatuses: Readonly<Partial<Record<ErrorCode, { readonly http?: number; readonly status?: string }>>> = {
  'task-not-cancelable': { http: 409 },
  'content-type-not-supported': { http: 415 },
  'invalid-agent-response': { http: 502 },
  'push-not-supported': { status: 'UNIMPLEMENTED' },
  'unsupported-operation': { status: 'UNIMPLEMENTED' },
  'streaming-not-supported': { status: 'UNIMPLEMENTED' },
  'task-ended': { status: 'UNIMPLEMENTED' },
  'version-not-supported': { status: 'UNIMPLEMENTED' },
}
