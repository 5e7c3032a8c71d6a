import { defined, type JsonObject } from '../core/base/json.ts'
import { conformanceMark } from '../core/protocol/conformance-mark.ts'
import { type Interface, isCurrent } from './interface.ts'

export type Operation =
  | 'send'
  | 'stream'
  | 'get'
  | 'list'
  | 'cancel'
  | 'subscribe'
  | 'push-create'
  | 'push-get'
  | 'push-list'
  | 'push-delete'
  | 'extended-card'

/** What a check sends in a message. */
export interface MessageInput {
  readonly text?: string
  /** Parts in the form of the version, instead of the text. */
  readonly parts?: readonly JsonObject[]
  readonly messageId?: string
  readonly taskId?: string
  readonly contextId?: string
  readonly returnImmediately?: boolean
  readonly historyLength?: number
  /** The generation that the task must have. Only in 1.1. */
  readonly ifGenerationMatch?: string
}

/** The codec of the suite is its own: it must not share the mistakes of the one that it judges. */
export interface HttpCall {
  readonly method: string
  readonly path: string
  readonly body?: JsonObject
}

/** The JSON-RPC method of an operation. Undefined if the version has none. */
export function methodOf(operation: Operation, { version }: Interface): string | undefined {
  if (isCurrent(version)) return currentMethods[operation]
  if (version === '0.1') return firstMethods[operation]
  const isLate = operation === 'push-list' || operation === 'push-delete' || operation === 'extended-card'
  return version === '0.2' && isLate ? undefined : legacyMethods[operation]
}

const currentMethods: Readonly<Record<Operation, string>> = {
  send: 'SendMessage',
  stream: 'SendStreamingMessage',
  get: 'GetTask',
  list: 'ListTasks',
  cancel: 'CancelTask',
  subscribe: 'SubscribeToTask',
  'push-create': 'CreateTaskPushNotificationConfig',
  'push-get': 'GetTaskPushNotificationConfig',
  'push-list': 'ListTaskPushNotificationConfigs',
  'push-delete': 'DeleteTaskPushNotificationConfig',
  'extended-card': 'GetExtendedAgentCard',
}

const legacyMethods: Readonly<Partial<Record<Operation, string>>> = {
  send: 'message/send',
  stream: 'message/stream',
  get: 'tasks/get',
  cancel: 'tasks/cancel',
  subscribe: 'tasks/resubscribe',
  'push-create': 'tasks/pushNotificationConfig/set',
  'push-get': 'tasks/pushNotificationConfig/get',
  'push-list': 'tasks/pushNotificationConfig/list',
  'push-delete': 'tasks/pushNotificationConfig/delete',
  'extended-card': 'agent/getAuthenticatedExtendedCard',
}

const firstMethods: Readonly<Partial<Record<Operation, string>>> = {
  send: 'tasks/send',
  stream: 'tasks/sendSubscribe',
  get: 'tasks/get',
  cancel: 'tasks/cancel',
  subscribe: 'tasks/resubscribe',
  'push-create': 'tasks/pushNotification/set',
  'push-get': 'tasks/pushNotification/get',
}

/** The REST call of an operation. */
export function restCallOf(operation: Operation, params: JsonObject, { version }: Interface): HttpCall {
  const prefix = isCurrent(version) ? '' : '/v1'
  const { id, taskId, ...rest } = params
  const task = `${prefix}/tasks/${encodeURIComponent(`${taskId ?? id}`)}`
  const config = `${task}/pushNotificationConfigs`
  switch (operation) {
    case 'send':
      return { method: 'POST', path: `${prefix}/message:send`, body: params }
    case 'stream':
      return { method: 'POST', path: `${prefix}/message:stream`, body: params }
    case 'get':
      return { method: 'GET', path: `${task}${queryOf(rest)}` }
    case 'list':
      return { method: 'GET', path: `${prefix}/tasks${queryOf(params)}` }
    case 'cancel':
      return { method: 'POST', path: `${task}:cancel`, body: rest }
    case 'subscribe':
      return { method: 'POST', path: `${task}:subscribe`, body: rest }
    case 'push-create':
      return { method: 'POST', path: config, body: id === undefined ? rest : { id, ...rest } }
    case 'push-get':
      return { method: 'GET', path: `${config}/${encodeURIComponent(`${id}`)}` }
    case 'push-list':
      return { method: 'GET', path: config }
    case 'push-delete':
      return { method: 'DELETE', path: `${config}/${encodeURIComponent(`${id}`)}` }
    case 'extended-card':
      return { method: 'GET', path: isCurrent(version) ? '/extendedAgentCard' : '/v1/card' }
  }
}

function queryOf(params: JsonObject): string {
  const pairs = Object.entries(params).map(([name, value]) => [name, `${value}`])
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

/** The params of send and stream. */
export function messageParams(input: MessageInput, target: Interface): JsonObject {
  const { text = '', messageId = `${conformanceMark}${crypto.randomUUID()}`, taskId, contextId, historyLength } = input
  const isProto = isCurrent(target.version) || target.binding !== 'JSONRPC'
  const ids = defined({ taskId, contextId })
  const history: JsonObject = historyLength === undefined ? {} : { historyLength }
  const parts = input.parts ?? [textPart(text, target)]
  if (target.version === '0.1') {
    return {
      id: taskId ?? crypto.randomUUID(),
      ...defined({ sessionId: contextId }),
      message: { role: 'user', parts },
      ...history,
    }
  }
  if (isCurrent(target.version)) {
    const { ifGenerationMatch } = input
    const returnImmediately = input.returnImmediately ? true : undefined
    const configuration = defined({ returnImmediately, ifGenerationMatch, historyLength })
    const message = { messageId, role: 'ROLE_USER', parts, ...ids }
    return defined({ message, configuration: Object.keys(configuration).length > 0 ? configuration : undefined })
  }
  // Up to 0.2.5, the configuration requires its modes.
  const modes = { acceptedOutputModes: ['text/plain', 'application/json'] }
  const configuration = { ...modes, blocking: !input.returnImmediately, ...history }
  const message = isProto
    ? { messageId, role: 'ROLE_USER', content: parts, ...ids }
    : { kind: 'message', messageId, role: 'user', parts, ...ids }
  return { message, configuration }
}

function textPart(text: string, { version, binding }: Interface): JsonObject {
  if (version === '0.1') return { type: 'text', text }
  return isCurrent(version) || binding !== 'JSONRPC' ? { text } : { kind: 'text', text }
}

/** A gRPC call of an operation: the method, and its request as ProtoJSON. 0.3 names tasks by their paths. */
export function grpcCallOf(operation: Operation, params: JsonObject, target: Interface) {
  if (isCurrent(target.version)) return { method: methodOf(operation, target) ?? operation, request: params }
  const method = protoMethods[operation] ?? currentMethods[operation]
  const { id, ...rest } = params
  return { method, request: id === undefined ? params : { name: `tasks/${id}`, ...rest } }
}

const protoMethods: Readonly<Partial<Record<Operation, string>>> = {
  subscribe: 'TaskSubscription',
  'push-list': 'ListTaskPushNotificationConfig',
  'extended-card': 'GetAgentCard',
}

/** The params that register a webhook. */
export function pushParams(taskId: string, id: string, url: string, { version }: Interface): JsonObject {
  if (isCurrent(version)) return { taskId, id, url, token: 'conformance' }
  const pushNotificationConfig = defined({ id: version !== '0.1' ? id : undefined, url, token: 'conformance' })
  return version === '0.1' ? { id: taskId, pushNotificationConfig } : { taskId, pushNotificationConfig }
}

/** The params that name a registered webhook. */
export function pushReference(taskId: string, id: string, { version }: Interface): JsonObject {
  if (isCurrent(version)) return { taskId, id }
  return version === '0.1' ? { id: taskId } : { id: taskId, pushNotificationConfigId: id }
}
