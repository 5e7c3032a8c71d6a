import { isObject, type JsonObject } from '../base/json.ts'
import { type A2AError, createError, type ErrorCode, type FieldViolation } from '../protocol/errors.ts'
import type { HttpError, WireError } from './dialect.ts'

/** Reads an error as `google.rpc.Status`, as a problem (RFC 9457), or as one of the formats of the 0.3 SDKs. */
export function decodeHttpError({ status, body }: HttpError): A2AError {
  const error = membersOf(body.error)
  const details = readDetails(error.details)
  const wireError = details.reason === undefined ? wireErrorIn(body) : undefined
  if (wireError) return decodeError(wireError)
  const code = codeOfReason(details) ?? codeOfName(body.type) ?? codesByGrpcStatus.get(error.status)
  const message = error.message ?? body.message ?? body.detail ?? body.title
  return toError(code ?? codeOfHttpStatus(status), message, details, body)
}

/** The members of a value; none if it is not an object. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** The `google.rpc` details of an error. Malformed details are skipped. */
export interface RpcDetails {
  readonly reason?: string
  readonly domain?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly violations?: readonly FieldViolation[]
  readonly retryAfter?: number
  /** What follows the text of the specification, if the message is only that text. */
  readonly detail?: string
}

export function readDetails(details: unknown): RpcDetails {
  if (!Array.isArray(details)) return {}
  return Object.assign({}, ...details.map(readDetail))
}

/** The JSON-RPC error in the body of a response: in its `error` member, or bare, as some agents send it over REST. */
export function wireErrorIn(body: JsonObject): WireError | undefined {
  return asWireError(membersOf(body.error)) ?? asWireError(body)
}

/**
 * Reads the errors of all versions since 0.2: each version keeps the numbers of the one before. The reason takes
 * precedence, since several errors share a number.
 */
export function decodeError(error: WireError): A2AError {
  const details = readDetails(isObject(error.data) ? error.data.details : error.data)
  const message = details.detail ? `${error.message}: ${details.detail}` : error.message
  return toError(codeOfReason(details) ?? codesByNumber.get(error.code) ?? 'internal', message, details, error)
}

/** Creates an error from its parts. `cause` is the error as the agent sent it. */
export function toError(code: ErrorCode, message: unknown, details: RpcDetails, cause: unknown): A2AError {
  const { metadata, violations, retryAfter } = details
  const text = typeof message === 'string' && message !== '' ? message : `The agent answered with an error: ${code}.`
  return createError(code, text, { cause, metadata, violations, retryAfter })
}

/** The most probable code of an error with only an HTTP status. */
export function codeOfHttpStatus(status: number): ErrorCode {
  return codesByHttpStatus.get(status) ?? (status >= 400 && status < 500 ? 'invalid-request' : 'internal')
}

/** The JSON-RPC error codes that mean the same in all versions. */
export const sharedNumbers = [
  ...numberDown(-32700, 'parse-error'),
  ...numberDown(-32600, 'invalid-request', 'method-not-found', 'invalid-params', 'internal'),
  ...numberDown(-32001, 'task-not-found', 'task-not-cancelable', 'push-not-supported'),
  ...numberDown(-32004, 'unsupported-operation', 'content-type-not-supported'),
  ...numberDown(-32050, 'input-timeout', 'tool-failed', 'context-not-found', 'rate-limited'),
]

function readDetail(value: unknown): RpcDetails {
  const detail = membersOf(value)
  switch (stringOrEmpty(detail['@type']).split('/').at(-1)) {
    case 'google.rpc.ErrorInfo':
      return {
        reason: stringOrEmpty(detail.reason),
        domain: stringOrEmpty(detail.domain),
        metadata: stringsIn(detail.metadata),
      }
    case 'google.rpc.BadRequest':
      return { violations: violationsOf(detail.fieldViolations) }
    case 'google.rpc.RetryInfo':
      return { retryAfter: secondsOf(detail.retryDelay) }
    case 'google.rpc.LocalizedMessage':
      return { detail: stringOrEmpty(detail.message) }
  }
  return {}
}

function stringOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function stringsIn(value: unknown): Record<string, string> {
  const entries = Object.entries(membersOf(value)).filter(([, member]) => typeof member === 'string')
  return Object.fromEntries(entries) as Record<string, string>
}

function violationsOf(value: unknown): readonly FieldViolation[] {
  if (!Array.isArray(value)) return []
  return value.map(membersOf).map(({ field, description }) => ({
    field: stringOrEmpty(field),
    description: stringOrEmpty(description),
  }))
}

function secondsOf(value: unknown): number | undefined {
  const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(stringOrEmpty(value)) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

const codesByHttpStatus: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [400, 'invalid-params'],
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [404, 'task-not-found'],
  [405, 'method-not-found'],
  [408, 'timeout'],
  [409, 'task-not-cancelable'],
  [413, 'payload-too-large'],
  [415, 'content-type-not-supported'],
  [422, 'invalid-params'],
  [429, 'rate-limited'],
  [501, 'unsupported-operation'],
  [502, 'invalid-agent-response'],
  [503, 'unavailable'],
  [504, 'timeout'],
])

/** JSON-RPC error codes are negative; positive ones are HTTP statuses. */
function asWireError({ code, message, data }: JsonObject): WireError | undefined {
  if (typeof code !== 'number' || code >= 0) return undefined
  return { code, message: typeof message === 'string' ? message : '', data }
}

function codeOfReason({ domain, reason }: RpcDetails): ErrorCode | undefined {
  return domain === 'a2a-protocol.org' || domain === 'parley' ? codeOfName(reason) : undefined
}

/** `TASK_NOT_FOUND`, `TaskNotFoundError` or `https://…/task-not-found`. */
export function codeOfName(name: unknown): ErrorCode | undefined {
  if (typeof name !== 'string') return undefined
  const kebabCase = name.replace(/^.*\/|Error$/gs, '').replace(/([a-z])(?=[A-Z])|_/g, '$1-')
  return codesByName.get(kebabCase.toLowerCase())
}

const codesByNumber: ReadonlyMap<number, ErrorCode> = new Map([
  ...sharedNumbers,
  ...numberDown(-32006, 'invalid-agent-response', 'extended-card-not-configured'),
  ...numberDown(-32008, 'extension-required', 'version-not-supported', 'task-generation-mismatch'),
  ...numberDown(-31401, 'unauthenticated'),
  ...numberDown(-31403, 'forbidden'),
])

/** The codes without a number of their own. */
const unnumberedCodes: readonly ErrorCode[] = [
  'conflict',
  'payload-too-large',
  'unavailable',
  'timeout',
  'streaming-not-supported',
  'task-ended',
  'task-expired',
]

const codesByName: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ...[...codesByNumber.values(), ...unnumberedCodes].map((code) => [code, code] as const),
  ['jsonparse', 'parse-error'],
  ['push-notification-not-supported', 'push-not-supported'],
  ['extended-agent-card-not-configured', 'extended-card-not-configured'],
  ['authenticated-extended-card-not-configured', 'extended-card-not-configured'],
  ['extension-support-required', 'extension-required'],
  ['tool-execution-failed', 'tool-failed'],
])

function numberDown(first: number, ...codes: readonly ErrorCode[]): readonly (readonly [number, ErrorCode])[] {
  return codes.map((code, index) => [first - index, code])
}

/** The most probable code of an error with only a gRPC status, by its name. */
const codesByGrpcStatus: ReadonlyMap<unknown, ErrorCode> = new Map<unknown, ErrorCode>([
  ['INVALID_ARGUMENT', 'invalid-params'],
  ['DEADLINE_EXCEEDED', 'timeout'],
  ['NOT_FOUND', 'task-not-found'],
  ['PERMISSION_DENIED', 'forbidden'],
  ['RESOURCE_EXHAUSTED', 'rate-limited'],
  ['FAILED_PRECONDITION', 'unsupported-operation'],
  ['ABORTED', 'conflict'],
  ['UNIMPLEMENTED', 'unsupported-operation'],
  ['INTERNAL', 'internal'],
  ['UNAVAILABLE', 'unavailable'],
  ['UNAUTHENTICATED', 'unauthenticated'],
])
