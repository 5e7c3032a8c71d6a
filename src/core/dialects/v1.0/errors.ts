import type { JsonObject } from '../../base/json.ts'
import type { A2AError, ErrorCode } from '../../protocol/errors.ts'
import type { HttpError, WireError } from '../dialect.ts'
import { errorTexts, messageOf } from '../error-texts.ts'

const precondition = 'FAILED_PRECONDITION'

export function encodeError(error: A2AError): WireError {
  const { code } = kinds[error.code]
  const message = messageOf(errorTexts[error.code], error)
  const details = detailsOf(error)
  return details.length === 0 ? { code, message } : { code, message, data: details }
}

/** Encodes an error as `google.rpc.Status`, with the statuses of 1.0.1 (§5.4, §11.6). */
export function encodeHttpError(error: A2AError): HttpError {
  return toHttpError(error, kinds[error.code])
}

/** As `encodeHttpError`, with the statuses of 1.0.0, some of which 1.0.1 changed. */
export function encodeV1_0_0HttpError(error: A2AError): HttpError {
  return toHttpError(error, { ...kinds[error.code], ...v1_0_0Statuses[error.code] })
}

/** The error details: `google.rpc` objects, the same in every transport (A2A 1.0 §3.3.2). */
export function detailsOf({ code, metadata, violations, retryAfter }: A2AError): readonly JsonObject[] {
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

const kinds: Readonly<Record<ErrorCode, ErrorKind>> = {
  'parse-error': jsonRpcKind(-32700, 400, 'INVALID_ARGUMENT'),
  'invalid-request': jsonRpcKind(-32600, 400, 'INVALID_ARGUMENT'),
  'method-not-found': jsonRpcKind(-32601, 404, 'UNIMPLEMENTED'),
  'invalid-params': jsonRpcKind(-32602, 400, 'INVALID_ARGUMENT'),
  internal: jsonRpcKind(-32603, 500, 'INTERNAL'),
  'task-not-found': a2aKind(-32001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'),
  'task-expired': ownKind(-32001, 404, 'NOT_FOUND', 'TASK_EXPIRED'),
  'task-not-cancelable': a2aKind(-32002, 400, precondition, 'TASK_NOT_CANCELABLE'),
  'push-not-supported': a2aKind(-32003, 400, precondition, 'PUSH_NOTIFICATION_NOT_SUPPORTED'),
  'unsupported-operation': a2aKind(-32004, 400, precondition, 'UNSUPPORTED_OPERATION'),
  'streaming-not-supported': a2aKind(-32004, 400, precondition, 'UNSUPPORTED_OPERATION'),
  'task-ended': a2aKind(-32004, 400, precondition, 'UNSUPPORTED_OPERATION'),
  'content-type-not-supported': a2aKind(-32005, 400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED'),
  'invalid-agent-response': a2aKind(-32006, 500, 'INTERNAL', 'INVALID_AGENT_RESPONSE'),
  'extended-card-not-configured': a2aKind(-32007, 400, precondition, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'),
  'extension-required': a2aKind(-32008, 400, precondition, 'EXTENSION_SUPPORT_REQUIRED'),
  'version-not-supported': a2aKind(-32009, 400, precondition, 'VERSION_NOT_SUPPORTED'),
  'task-generation-mismatch': a2aKind(-32010, 409, 'ABORTED', 'TASK_GENERATION_MISMATCH'),
  conflict: ownKind(-32602, 409, 'ABORTED', 'CONFLICT'),
  'payload-too-large': ownKind(-32600, 413, 'RESOURCE_EXHAUSTED', 'PAYLOAD_TOO_LARGE'),
  unauthenticated: ownKind(-31401, 401, 'UNAUTHENTICATED', 'UNAUTHENTICATED'),
  forbidden: ownKind(-31403, 403, 'PERMISSION_DENIED', 'FORBIDDEN'),
  'rate-limited': ownKind(-32053, 429, 'RESOURCE_EXHAUSTED', 'RATE_LIMITED'),
  unavailable: ownKind(-32603, 503, 'UNAVAILABLE', 'UNAVAILABLE'),
  timeout: ownKind(-32603, 504, 'DEADLINE_EXCEEDED', 'TIMEOUT'),
  'input-timeout': ownKind(-32050, 400, 'DEADLINE_EXCEEDED', 'INPUT_TIMEOUT'),
  'tool-failed': ownKind(-32051, 500, 'INTERNAL', 'TOOL_EXECUTION_FAILED'),
  'context-not-found': ownKind(-32052, 404, 'NOT_FOUND', 'CONTEXT_NOT_FOUND'),
}

interface ErrorKind {
  /** The JSON-RPC error code. */
  readonly code: number
  /** The HTTP status. */
  readonly http: number
  /** The name of the gRPC status. */
  readonly status: string
  /** The reason in `ErrorInfo`. Errors of JSON-RPC itself have none. */
  readonly reason?: string
  readonly domain?: string
}

function jsonRpcKind(code: number, http: number, status: string): ErrorKind {
  return { code, http, status }
}

function a2aKind(code: number, http: number, status: string, reason: string): ErrorKind {
  return { code, http, status, reason, domain: 'a2a-protocol.org' }
}

/** An error that A2A does not define. */
function ownKind(code: number, http: number, status: string, reason: string): ErrorKind {
  return { code, http, status, reason, domain: 'parley' }
}

function typeUrl(name: string): string {
  return `type.googleapis.com/google.rpc.${name}`
}

function toHttpError(error: A2AError, { http, status }: Pick<ErrorKind, 'http' | 'status'>): HttpError {
  const details = detailsOf(error)
  const body = { code: http, status, message: messageOf(errorTexts[error.code], error) }
  return { status: http, body: { error: details.length === 0 ? body : { ...body, details } } }
}

const v1_0_0Statuses: Readonly<Partial<Record<ErrorCode, { readonly http?: number; readonly status?: string }>>> = {
  'task-not-cancelable': { http: 409 },
  'content-type-not-supported': { http: 415 },
  'invalid-agent-response': { http: 502 },
  'push-not-supported': { status: 'UNIMPLEMENTED' },
  'unsupported-operation': { status: 'UNIMPLEMENTED' },
  'streaming-not-supported': { status: 'UNIMPLEMENTED' },
  'task-ended': { status: 'UNIMPLEMENTED' },
  'version-not-supported': { status: 'UNIMPLEMENTED' },
}
