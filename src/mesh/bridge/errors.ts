import { defined, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import { decodeError } from '../../core/dialects/errors.ts'
import { v1_0 } from '../../core/dialects/v1.0/server.ts'
import { A2AError, type ErrorCode } from '../../core/protocol/errors.ts'
import { MeshError, MeshRefusal, type StandardCode } from '../errors.ts'

/** Limit of the mesh schemas. */
const maxMessageLength = 500

/** `details.reason` names the A2A error, and `details.a2a` holds its JSON-RPC form. */
export function toMeshError(error: A2AError): MeshError | MeshRefusal {
  const { code, as } = meshErrors[error.code]
  const { code: number, data } = v1_0.encodeError(error)
  const details = {
    reason: reasonIn(data) ?? reasonOf(error.code),
    a2a: defined({ code: number, data: data || undefined }),
  }
  const message = truncate(error.message) || code
  if (as === 'response') return new MeshRefusal(code, message, details)
  const { retryAfter } = error
  return new MeshError(
    code,
    message,
    defined({ details, retryAfter: retryAfter === undefined ? undefined : Math.ceil(retryAfter), cause: error }),
  )
}

/** `reason` is the mesh code. An error that came through a bridge is restored. */
export function toA2AError(error: MeshError | MeshRefusal): A2AError {
  const { code, details = {}, message } = error
  const retryAfter = error instanceof MeshError ? error.retryAfter : undefined
  const options = defined({ retryAfter, reason: code, cause: error })
  const original = details.a2a
  if (isObject(original) && typeof original.code === 'number') {
    const decoded = decodeError(defined({ code: original.code, message, data: original.data || undefined }))
    const { violations, metadata } = decoded
    return new A2AError(decoded.code, message, { violations, metadata, ...options })
  }
  const a2aCode = codeOf(code, details)
  return new A2AError(a2aCode, publicMessages[a2aCode] ?? message, { metadata: { reason: code }, ...options })
}

export function isMeshError(error: unknown): error is MeshError | MeshRefusal {
  return error instanceof MeshError || error instanceof MeshRefusal
}

const response = (code: StandardCode): MeshErrorMapping => ({ code, as: 'response' })

const error = (code: StandardCode): MeshErrorMapping => ({ code, as: 'error' })

export const meshErrors: Readonly<Record<ErrorCode, MeshErrorMapping>> = {
  'parse-error': response('INVALID_MESSAGE'),
  'invalid-request': response('INVALID_MESSAGE'),
  'invalid-params': response('VALIDATION_FAILED'),
  'content-type-not-supported': response('VALIDATION_FAILED'),
  'extension-required': response('VALIDATION_FAILED'),
  'version-not-supported': response('VALIDATION_FAILED'),
  'task-generation-mismatch': response('VALIDATION_FAILED'),
  conflict: response('VALIDATION_FAILED'),
  'task-not-found': response('NOT_FOUND'),
  'task-expired': response('NOT_FOUND'),
  'context-not-found': response('NOT_FOUND'),
  'method-not-found': response('NOT_FOUND'),
  'task-not-cancelable': response('METHOD_NOT_ALLOWED'),
  'task-ended': response('METHOD_NOT_ALLOWED'),
  'unsupported-operation': response('METHOD_NOT_ALLOWED'),
  'streaming-not-supported': response('METHOD_NOT_ALLOWED'),
  'push-not-supported': response('METHOD_NOT_ALLOWED'),
  'extended-card-not-configured': response('METHOD_NOT_ALLOWED'),
  'tool-failed': response('INTERNAL_ERROR'),
  'input-timeout': response('TIMEOUT'),
  unauthenticated: error('AUTHENTICATION_FAILED'),
  forbidden: error('FORBIDDEN'),
  'rate-limited': error('RATE_LIMIT_EXCEEDED'),
  'payload-too-large': error('PAYLOAD_TOO_LARGE'),
  internal: error('INTERNAL_ERROR'),
  'invalid-agent-response': error('INTERNAL_ERROR'),
  unavailable: error('SERVICE_UNAVAILABLE'),
  timeout: error('TIMEOUT'),
}

/**
 * How an A2A error is sent in the mesh: as a `response` if the agent understood the request and rejects it, or as an
 * `error`, which may have `retry_after`, if it cannot answer.
 */
interface MeshErrorMapping {
  readonly code: StandardCode
  readonly as: 'response' | 'error'
}

function reasonIn(data: Json | undefined): string | undefined {
  const infos = Array.isArray(data) ? data.filter(isObject) : []
  const { reason } = infos.find((info) => typeof info.reason === 'string') ?? {}
  return typeof reason === 'string' ? reason : undefined
}

function reasonOf(code: ErrorCode): string {
  return code.toUpperCase().replaceAll('-', '_')
}

/** Never splits a surrogate pair: the mesh rejects lone surrogates. */
function truncate(text: string): string {
  return text.length <= maxMessageLength ? text : `${[...text.slice(0, maxMessageLength - 1)].slice(0, -1).join('')}…`
}

function codeOf(code: string, { what }: JsonObject): ErrorCode {
  if (code === 'NOT_FOUND' && what === 'method') return 'method-not-found'
  if (code === 'NOT_FOUND' && what === 'recipient') return 'unavailable'
  return Object.hasOwn(a2aCodes, code) ? a2aCodes[code as StandardCode] : 'tool-failed'
}

/** The A2A codes of the standard mesh codes. `NOT_FOUND` also depends on what was not found. */
const a2aCodes: Readonly<Record<StandardCode, ErrorCode>> = {
  INVALID_MESSAGE: 'invalid-request',
  VALIDATION_FAILED: 'invalid-params',
  AUTHENTICATION_FAILED: 'unauthenticated',
  FORBIDDEN: 'forbidden',
  NOT_FOUND: 'task-not-found',
  METHOD_NOT_ALLOWED: 'unsupported-operation',
  PAYLOAD_TOO_LARGE: 'payload-too-large',
  RATE_LIMIT_EXCEEDED: 'rate-limited',
  INTERNAL_ERROR: 'internal',
  SERVICE_UNAVAILABLE: 'unavailable',
  TIMEOUT: 'timeout',
}

/** Replace messages that could reveal the address of the peer to A2A callers. */
const publicMessages: Readonly<Partial<Record<ErrorCode, string>>> = {
  unavailable: 'The agent behind this one cannot be reached.',
  timeout: 'The agent behind this one did not answer in time.',
  internal: 'The agent behind this one failed.',
}
