import type { JsonObject } from '../base/json.ts'
import { isObject } from '../base/json.ts'
import { A2AError, type ErrorCode, type FieldViolation } from '../protocol/errors.ts'
import type { HttpError, WireError } from './dialect.ts'

/** As `google.rpc.Status`, as a problem (RFC 9457), or in what each SDK of 0.3 has made up for itself. */
export function decodeHttpError({ status, body }: HttpError): A2AError {
  const error = membersOf(body.error)
  const details = readDetails(error.details)
  const numbered = details.reason === undefined ? wireErrorIn(body) : undefined
  if (numbered) return decodeError(numbered)
  const code = codeOfReason(details) ?? codeOfName(body.type) ?? codeOfGrpcStatus(error.status)
  const message = error.message ?? body.message ?? body.detail ?? body.title
  return toError(code ?? codeOfHttpStatus(status), message, details, body)
}

/** The members of what may be an object. */
export function membersOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

/** What an agent tells of an error in objects of `google.rpc`, read as far as it can be understood. */
export interface RpcDetails {
  readonly reason?: string
  readonly domain?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly violations?: readonly FieldViolation[]
  readonly retryAfter?: number
}

export function readDetails(details: unknown): RpcDetails {
  if (!Array.isArray(details)) return {}
  return Object.assign({}, ...details.map(readDetail))
}

/** The error of JSON-RPC in the body of an answer: where JSON-RPC has it, or bare, as some tell it over REST. */
export function wireErrorIn(body: JsonObject): WireError | undefined {
  return asWireError(membersOf(body.error)) ?? asWireError(body)
}

/**
 * The errors of all versions since 0.2: the numbers of each are also in the next. The reason tells more than the number,
 * which stands for several errors.
 */
export function decodeError(error: WireError): A2AError {
  const details = readDetails(isObject(error.data) ? error.data.details : error.data)
  return toError(codeOfReason(details) ?? numbers.get(error.code) ?? 'internal', error.message, details, error)
}

/** The error that its code, its message and its details make. What the agent sent stays with it as its cause. */
export function toError(code: ErrorCode, message: unknown, details: RpcDetails, cause: unknown): A2AError {
  const { metadata, violations, retryAfter } = details
  const text = typeof message === 'string' && message !== '' ? message : `The agent answered with an error: ${code}.`
  return new A2AError(code, text, { cause, metadata, violations, retryAfter })
}

/** What an error most probably is of which only the status of HTTP is known. */
export function codeOfHttpStatus(status: number): ErrorCode {
  return byHttpStatus.get(status) ?? (status >= 400 && status < 500 ? 'invalid-request' : 'internal')
}

/** What 0.1 has in common with all others. */
export const firstNumbers = [
  ...numbered(-32700, 'parse-error'),
  ...numbered(-32600, 'invalid-request', 'method-not-found', 'invalid-params', 'internal'),
  ...numbered(-32001, 'task-not-found', 'task-not-cancelable', 'push-not-supported'),
  ...numbered(-32004, 'unsupported-operation', 'content-type-not-supported'),
  ...numbered(-32050, 'input-timeout', 'tool-failed', 'context-not-found', 'rate-limited'),
]

function readDetail(value: unknown): RpcDetails {
  const detail = membersOf(value)
  switch (textOf(detail['@type']).split('/').at(-1)) {
    case 'google.rpc.ErrorInfo':
      return { reason: textOf(detail.reason), domain: textOf(detail.domain), metadata: textsOf(detail.metadata) }
    case 'google.rpc.BadRequest':
      return { violations: violationsOf(detail.fieldViolations) }
    case 'google.rpc.RetryInfo':
      return { retryAfter: secondsOf(detail.retryDelay) }
  }
  return {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function textsOf(value: unknown): Record<string, string> {
  const entries = Object.entries(membersOf(value)).filter(([, member]) => typeof member === 'string')
  return Object.fromEntries(entries) as Record<string, string>
}

function violationsOf(value: unknown): readonly FieldViolation[] {
  if (!Array.isArray(value)) return []
  return value.map(membersOf).map(({ field, description }) => ({
    field: textOf(field),
    description: textOf(description),
  }))
}

function secondsOf(value: unknown): number | undefined {
  const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(textOf(value)) ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

const byHttpStatus: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
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

/** Its numbers are negative: others are statuses of HTTP. */
function asWireError({ code, message, data }: JsonObject): WireError | undefined {
  if (typeof code !== 'number' || code >= 0) return undefined
  return { code, message: typeof message === 'string' ? message : '', data }
}

function codeOfReason({ domain, reason }: RpcDetails): ErrorCode | undefined {
  return domain === 'a2a-protocol.org' || domain === 'parley' ? codeOfName(reason) : undefined
}

/** `TASK_NOT_FOUND`, `TaskNotFoundError` or `https://…/task-not-found`. */
function codeOfName(name: unknown): ErrorCode | undefined {
  if (typeof name !== 'string') return undefined
  const words = name.replace(/^.*\/|Error$/gs, '').replace(/([a-z])(?=[A-Z])|_/g, '$1-')
  return names.get(words.toLowerCase())
}

const numbers: ReadonlyMap<number, ErrorCode> = new Map([
  ...firstNumbers,
  ...numbered(-32006, 'invalid-agent-response', 'extended-card-not-configured'),
  ...numbered(-32008, 'extension-required', 'version-not-supported'),
  ...numbered(-31401, 'unauthenticated'),
  ...numbered(-31403, 'forbidden'),
])

/** Those that have no number of their own. */
const unnumbered: readonly ErrorCode[] = [
  'conflict',
  'payload-too-large',
  'unavailable',
  'timeout',
  'streaming-not-supported',
  'task-ended',
  'task-expired',
]

const names: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ...[...numbers.values(), ...unnumbered].map((code) => [code, code] as const),
  ['jsonparse', 'parse-error'],
  ['push-notification-not-supported', 'push-not-supported'],
  ['extended-agent-card-not-configured', 'extended-card-not-configured'],
  ['authenticated-extended-card-not-configured', 'extended-card-not-configured'],
  ['extension-support-required', 'extension-required'],
  ['tool-execution-failed', 'tool-failed'],
])

function numbered(first: number, ...codes: readonly ErrorCode[]): readonly (readonly [number, ErrorCode])[] {
  return codes.map((code, index) => [first - index, code])
}

/** What an error most probably is of which only the status of gRPC is known, by its name. */
function codeOfGrpcStatus(name: unknown): ErrorCode | undefined {
  return byGrpcStatus.get(name)
}

const byGrpcStatus: ReadonlyMap<unknown, ErrorCode> = new Map<unknown, ErrorCode>([
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
