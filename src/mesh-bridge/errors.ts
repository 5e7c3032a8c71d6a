import { isObject, type Json, type JsonObject } from '../base/json.ts'
import { decodeError } from '../dialects/errors.ts'
import { v1_0 } from '../dialects/v1.0/server.ts'
import { MeshError, MeshRefusal, type StandardCode } from '../mesh/errors.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'

/** What the mesh allows in an `error`. */
const longestMessage = 500

/** `details.reason` names the error of A2A, and `details.a2a` is what JSON-RPC has of it. */
export function toMeshError(error: A2AError): MeshError | MeshRefusal {
  const { code, as } = inMesh[error.code]
  const { code: number, data } = v1_0.encodeError(error)
  const details = { reason: reasonIn(data) ?? reasonOf(error.code), a2a: { code: number, ...(data && { data }) } }
  const message = clipped(error.message) || code
  if (as === 'response') return new MeshRefusal(code, message, details)
  const { retryAfter } = error
  return new MeshError(code, message, {
    details,
    ...(retryAfter !== undefined && { retryAfter: Math.ceil(retryAfter) }),
    cause: error,
  })
}

/** `reason` is the code of the mesh; what came over a bridge is what it was before. */
export function toA2AError(error: MeshError | MeshRefusal): A2AError {
  const { code, details = {}, message } = error
  const retryAfter = error instanceof MeshError ? error.retryAfter : undefined
  const after = retryAfter === undefined ? {} : { retryAfter }
  const carried = details.a2a
  if (isObject(carried) && typeof carried.code === 'number') {
    const told = decodeError({ code: carried.code, message, ...(carried.data && { data: carried.data }) })
    const { violations, metadata } = told
    return new A2AError(told.code, message, { violations, metadata, ...after, reason: code, cause: error })
  }
  const named = codeOf(code, details)
  const text = own[named] ?? message
  return new A2AError(named, text, { metadata: { reason: code }, ...after, reason: code, cause: error })
}

/** Anything that a link throws and that is not of the mesh is nobody's answer. */
export function isOfMesh(error: unknown): error is MeshError | MeshRefusal {
  return error instanceof MeshError || error instanceof MeshRefusal
}

const response = (code: StandardCode): Told => ({ code, as: 'response' })

const error = (code: StandardCode): Told => ({ code, as: 'error' })

export const inMesh: Readonly<Record<ErrorCode, Told>> = {
  'parse-error': response('INVALID_MESSAGE'),
  'invalid-request': response('INVALID_MESSAGE'),
  'invalid-params': response('VALIDATION_FAILED'),
  'content-type-not-supported': response('VALIDATION_FAILED'),
  'extension-required': response('VALIDATION_FAILED'),
  'version-not-supported': response('VALIDATION_FAILED'),
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
 * What an error of A2A is in the mesh. The agent understood and does not do it (`response`), or it cannot answer at all
 * (`error`, which also has `retry_after`).
 */
interface Told {
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

/** Whole characters only: the mesh refuses halves. */
function clipped(text: string): string {
  return text.length <= longestMessage ? text : `${[...text.slice(0, longestMessage - 1)].slice(0, -1).join('')}…`
}

function codeOf(code: string, { what }: JsonObject): ErrorCode {
  if (code === 'NOT_FOUND' && what === 'method') return 'method-not-found'
  if (code === 'NOT_FOUND' && what === 'recipient') return 'unavailable'
  return Object.hasOwn(inA2A, code) ? inA2A[code as StandardCode] : 'tool-failed'
}

/** Of codes that every peer may use; `NOT_FOUND` also depends on what it is that is not there. */
const inA2A: Readonly<Record<StandardCode, ErrorCode>> = {
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

/** Where callers of A2A must not learn by which way the peer is reached. */
const own: Readonly<Partial<Record<ErrorCode, string>>> = {
  unavailable: 'The agent behind this one cannot be reached.',
  timeout: 'The agent behind this one did not answer in time.',
  internal: 'Something broke in the agent behind this one.',
}
