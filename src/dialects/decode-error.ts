import type { A2AError, ErrorCode } from '../protocol/errors.ts'
import type { HttpError, WireError } from './dialect.ts'
import { isObject } from './is-object.ts'
import { membersOf, type RpcDetails, readDetails, toError } from './rpc-details.ts'
import { codeOfGrpcStatus, codeOfHttpStatus } from './rpc-status.ts'
import { wireErrorIn } from './wire-error.ts'

/**
 * The errors of all versions since 0.2: the numbers of each are also in the next. The reason tells more than the number,
 * which stands for several errors.
 */
export function decodeError(error: WireError): A2AError {
  const details = readDetails(isObject(error.data) ? error.data.details : error.data)
  return toError(codeOfReason(details) ?? numbers.get(error.code) ?? 'internal', error.message, details, error)
}

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

function numbered(first: number, ...codes: readonly ErrorCode[]): readonly (readonly [number, ErrorCode])[] {
  return codes.map((code, index) => [first - index, code])
}

/** What 0.1 has in common with all others. */
export const firstNumbers = [
  ...numbered(-32700, 'parse-error'),
  ...numbered(-32600, 'invalid-request', 'method-not-found', 'invalid-params', 'internal'),
  ...numbered(-32001, 'task-not-found', 'task-not-cancelable', 'push-not-supported'),
  ...numbered(-32004, 'unsupported-operation', 'content-type-not-supported'),
  ...numbered(-32050, 'input-timeout', 'tool-failed', 'context-not-found', 'rate-limited'),
]

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

function codeOfReason({ domain, reason }: RpcDetails): ErrorCode | undefined {
  return domain === 'a2a-protocol.org' || domain === 'parley' ? codeOfName(reason) : undefined
}

/** `TASK_NOT_FOUND`, `TaskNotFoundError` or `https://…/task-not-found`. */
function codeOfName(name: unknown): ErrorCode | undefined {
  if (typeof name !== 'string') return undefined
  const words = name.replace(/^.*\/|Error$/gs, '').replace(/([a-z])(?=[A-Z])|_/g, '$1-')
  return names.get(words.toLowerCase())
}
