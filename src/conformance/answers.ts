import { isList, isObject, type JsonObject } from '../core/base/json.ts'
import { type Interface, isCurrent } from './interface.ts'
import { expectThat, RuleViolation } from './verdict.ts'
import type { OpenStream, StreamEvent, WireExchange } from './wire.ts'

/** States in the words of 0.3, which all versions share. */
export type State = (typeof states)[number]

const states = [
  ...(['submitted', 'working', 'completed', 'failed', 'canceled', 'rejected'] as const),
  ...(['input-required', 'auth-required', 'unknown'] as const),
]

/** A task as the agent sent it, with the members that have other names in other versions. */
export interface TaskAnswer {
  readonly wire: JsonObject
  readonly id: string
  readonly contextId: string | undefined
  /** Undefined if the state is not one of this version. */
  readonly state: State | undefined
}

export const isTerminal = (state: State | undefined) =>
  state === 'completed' || state === 'failed' || state === 'canceled' || state === 'rejected'

export const isInterrupted = (state: State | undefined) => state === 'input-required' || state === 'auth-required'

/** Status in 1.0.1, and in 1.0.0. */
const refusals = ['UNIMPLEMENTED', 'FAILED_PRECONDITION']

/** The errors of A2A that the rules name. */
export type ErrorName = keyof typeof errors

const errors = {
  TaskNotFound: error(-32001, [404], ['NOT_FOUND'], 'TASK_NOT_FOUND'),
  TaskNotCancelable: error(-32002, [400, 409], ['FAILED_PRECONDITION'], 'TASK_NOT_CANCELABLE'),
  PushNotificationNotSupported: error(-32003, [400, 501], refusals, 'PUSH_NOTIFICATION_NOT_SUPPORTED'),
  UnsupportedOperation: error(-32004, [400, 501], refusals, 'UNSUPPORTED_OPERATION'),
  ContentTypeNotSupported: error(-32005, [400, 415], ['INVALID_ARGUMENT'], 'CONTENT_TYPE_NOT_SUPPORTED'),
  ExtensionSupportRequired: error(-32008, [400], ['FAILED_PRECONDITION'], 'EXTENSION_SUPPORT_REQUIRED'),
  VersionNotSupported: error(-32009, [400], refusals, 'VERSION_NOT_SUPPORTED'),
  TaskGenerationMismatch: error(-32010, [409], ['ABORTED'], 'TASK_GENERATION_MISMATCH'),
  InvalidParams: error(-32602, [400, 422], ['INVALID_ARGUMENT']),
}

interface ErrorForms {
  readonly code: number
  readonly statuses: readonly number[]
  readonly grpcStatuses: readonly string[]
  readonly reason: string | undefined
}

function error(
  code: number,
  statuses: readonly number[],
  grpcStatuses: readonly string[],
  reason?: string,
): ErrorForms {
  return { code, statuses, grpcStatuses, reason }
}

/** Throws a `RuleViolation` unless the answer is this error. */
export function expectError(
  { exchange, name }: { exchange: WireExchange; name: ErrorName },
  { binding }: Interface,
): void {
  const { code, statuses, grpcStatuses, reason } = errors[name]
  expectThat(exchange.isError, `Expected the error ${name}, got ${describe(exchange)}.`)
  if (binding === 'JSONRPC') {
    const actual = rpcErrorOf(exchange)?.code
    expectThat(actual === code, `Expected the error ${name} (${code}), got the code ${JSON.stringify(actual)}.`)
    return
  }
  if (binding === 'GRPC') {
    const expected = grpcStatuses.join(' or ')
    const isRight = grpcStatuses.includes(`${exchange.grpcStatus}`)
    expectThat(isRight, `Expected the error ${name} (${expected}), got ${exchange.grpcStatus ?? 'no status'}.`)
  } else {
    const isRight = statuses.includes(exchange.status)
    expectThat(isRight, `Expected the error ${name} (HTTP ${statuses.join(' or ')}), got HTTP ${exchange.status}.`)
  }
  const actual = errorInfoOf(exchange)?.reason
  if (reason === undefined || actual === undefined) return
  expectThat(actual === reason, `Expected the reason ${reason}, got ${JSON.stringify(actual)}.`)
}

/** The error that opened a stream: the answer itself, or the first event. */
export async function openingError(stream: OpenStream): Promise<WireExchange> {
  if (!stream.isStream) return stream.exchange
  const event = await stream.next()
  await stream.close()
  return { ...stream.exchange, json: event?.json, isError: event?.isError ?? false, text: JSON.stringify(event?.json) }
}

export function rpcErrorOf({ json }: WireExchange): JsonObject | undefined {
  return isObject(json) && isObject(json.error) ? json.error : undefined
}

/** The detail objects of an error. */
export function detailsOf(exchange: WireExchange): readonly unknown[] | undefined {
  const error = rpcErrorOf(exchange)
  const details = error?.data ?? error?.details
  return isList(details) ? details : undefined
}

export function errorInfoOf(exchange: WireExchange): JsonObject | undefined {
  return detailsOf(exchange)
    ?.filter(isObject)
    .find((detail) => /google\.rpc\.ErrorInfo$/.test(`${detail['@type']}`))
}

/** The task of a send answer. Undefined if the answer is a message. */
export function sentTask({ result }: Pick<WireExchange, 'result'>, target: Interface): TaskAnswer | undefined {
  if (!isObject(result)) return undefined
  if (target.version === '0.1') return taskAnswer(result, target)
  if (isProto(target)) return isObject(result.task) ? taskAnswer(result.task, target) : undefined
  return result.kind === 'task' ? taskAnswer(result, target) : undefined
}

/** The message of a send answer. */
export function sentMessage({ result }: Pick<WireExchange, 'result'>, target: Interface): JsonObject | undefined {
  if (!isObject(result) || target.version === '0.1') return undefined
  if (isProto(target)) return isObject(result.message) ? result.message : undefined
  return result.kind === 'message' ? result : undefined
}

/** The task of an answer that is one, such as that of get. Throws a `RuleViolation` if it is none. */
export function requireTask(exchange: WireExchange, target: Interface): TaskAnswer {
  const task = isObject(exchange.result) ? taskAnswer(exchange.result, target) : undefined
  if (!task) throw new RuleViolation(`Expected a task, got ${describe(exchange)}.`)
  return task
}

export function taskAnswer(wire: JsonObject, target: Interface): TaskAnswer | undefined {
  const { id, status } = wire
  if (typeof id !== 'string' || id === '' || !isObject(status)) return undefined
  const context = target.version === '0.1' ? wire.sessionId : wire.contextId
  return {
    wire,
    id,
    contextId: typeof context === 'string' ? context : undefined,
    state: stateOf(status.state, target),
  }
}

/** The state in the spelling of this version; other spellings are no state. */
export function stateOf(text: unknown, target: Interface): State | undefined {
  if (typeof text !== 'string') return undefined
  if (!isProto(target)) return states.find((state) => state === text)
  const word = /^TASK_STATE_([A-Z_]+)$/.exec(text)?.[1]?.toLowerCase().replaceAll('_', '-')
  // The first proto file wrote it with two l.
  const name = word === 'cancelled' && target.version === '0.3' ? 'canceled' : word
  return states.find((state) => state === name)
}

export type EventType = 'task' | 'message' | 'status' | 'artifact'

/** What an event of a stream carries. Undefined if it is not exactly one of them. */
export function eventTypeOf({ result }: StreamEvent, target: Interface): EventType | undefined {
  if (!isObject(result)) return undefined
  if (target.version === '0.1') return 'status' in result ? 'status' : 'artifact' in result ? 'artifact' : undefined
  const names = { task: 'task', message: 'message', statusUpdate: 'status', artifactUpdate: 'artifact' } as const
  if (isProto(target)) {
    const members = Object.entries(names).filter(([name]) => isObject(result[name]))
    return members.length === 1 ? members[0]?.[1] : undefined
  }
  const kinds = { task: 'task', message: 'message', 'status-update': 'status', 'artifact-update': 'artifact' } as const
  return kinds[`${result.kind}` as keyof typeof kinds]
}

/** The object in an event. */
export function eventBody({ result }: StreamEvent, target: Interface): JsonObject {
  if (!isObject(result)) return {}
  if (!isProto(target)) return result
  return Object.values(result).find(isObject) ?? {}
}

/** The state that an event reports. */
export function eventState(event: StreamEvent, target: Interface): State | undefined {
  const { status } = eventBody(event, target)
  return isObject(status) ? stateOf(status.state, target) : undefined
}

/** The id of the task that an event belongs to. */
export function eventTaskId(event: StreamEvent, target: Interface): unknown {
  const { id, taskId } = eventBody(event, target)
  return eventTypeOf(event, target) === 'task' || target.version === '0.1' ? id : taskId
}

/** Whether the objects have the names of the proto file: A2A 1.0, and 0.3 over REST and gRPC. */
export function isProto({ version, binding }: Interface): boolean {
  return isCurrent(version) || (version === '0.3' && binding !== 'JSONRPC')
}

export function listOf(value: unknown): readonly JsonObject[] {
  return isList(value) ? value.filter(isObject) : []
}

/** An answer in a few words, for messages. */
export function describe({ status, grpcStatus, text, isError }: WireExchange): string {
  const start = text.length > 160 ? `${text.slice(0, 160)}…` : text
  const code = grpcStatus === undefined ? `HTTP ${status}` : `gRPC status ${grpcStatus}`
  return `${isError ? 'an error' : 'an answer'} with ${code}: ${start || 'no body'}`
}
