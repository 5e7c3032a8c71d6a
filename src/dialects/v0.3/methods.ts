import type { Json, JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { Operation } from '../../protocol/service.ts'
import { operationsByMethod, type RestClientBinding, type RestServerBinding } from '../dialect.ts'
import { type RestRequestFields, restRequest } from '../rest-request.ts'

export const methods: Readonly<Record<Operation, string>> = {
  sendMessage: 'message/send',
  streamMessage: 'message/stream',
  getTask: 'tasks/get',
  // Never released: it was in the drafts after 0.3.0.
  listTasks: 'tasks/list',
  cancelTask: 'tasks/cancel',
  subscribeToTask: 'tasks/resubscribe',
  createPushConfig: 'tasks/pushNotificationConfig/set',
  getPushConfig: 'tasks/pushNotificationConfig/get',
  listPushConfigs: 'tasks/pushNotificationConfig/list',
  deletePushConfig: 'tasks/pushNotificationConfig/delete',
  getExtendedCard: 'agent/getAuthenticatedExtendedCard',
}

export const operations = /* @__PURE__ */ operationsByMethod(methods, {
  // As A2A 0.3.0 §11.1.3 has it.
  'agent/authenticatedExtendedCard': 'getExtendedCard',
})

export type RestEnvelope = 'bare' | 'wrapped'

export interface RestOptions {
  /** Whether answers are wrapped, as the text of 0.3 can be understood, too. */
  readonly restEnvelope?: RestEnvelope
  /** Cancels a task whose caller leaves its stream. */
  readonly cancelOnDisconnect?: boolean
}

export function restAs(side: RestServerBinding, { restEnvelope, cancelOnDisconnect }: RestOptions): RestServerBinding {
  return {
    ...side,
    ...(restEnvelope === 'wrapped' && { wrap }),
    ...(cancelOnDisconnect && { cancelsOnDisconnect: true }),
  }
}

/** For agents such as those of a2a-js 0.3.6 and 0.3.7, which take the objects of JSON-RPC over REST, too. */
export const restAsking: RestClientBinding = {
  contentType: 'application/json',
  prefix: '/v1',
  toRequest: (operation, wire) => restRequest(operation, '/card', placed(operation, wire)),
}

/**
 * The objects of JSON-RPC over REST, as a2a-js 0.3.6 and 0.3.7 send them and as the text of 0.3 can be understood.
 * What its proto says, and most others do, is a dialect of its own.
 */
export const rest: RestServerBinding = {
  contentType: 'application/json',
  olderEqualVersion: '0.2',
  missingCardIsNotFound: true,
  recognises: ({ body, query }) => (isObject(body) ? isMessage(body.message) || isConfig(body) : isState(query.status)),
  params({ operation, taskId, configId, query, body }) {
    const given = isObject(body) ? body : {}
    switch (operation) {
      case 'sendMessage':
      case 'streamMessage':
        return body
      case 'getTask':
        return { ...query, id: taskId }
      case 'listTasks':
        return Object.fromEntries(Object.entries(query).map(([name, text]) => [name, readFilter(name, text)]))
      case 'cancelTask':
      case 'subscribeToTask':
        return { ...given, id: taskId }
      case 'createPushConfig':
        return hasConfig(given) ? { ...given, taskId } : { pushNotificationConfig: given, taskId }
      case 'getPushConfig':
      case 'listPushConfigs':
      case 'deletePushConfig':
        return { id: taskId, pushNotificationConfigId: configId }
      case 'getExtendedCard':
        return {}
    }
  },
}

function isMessage(message: unknown): boolean {
  return isObject(message) && (message.kind !== undefined || message.role === 'user' || message.role === 'agent')
}

/** In the proto it also has a name, or a parent. */
function isConfig(body: JsonObject): boolean {
  return hasConfig(body) && body.name === undefined && body.parent === undefined
}

function hasConfig({ pushNotificationConfig, push_notification_config = pushNotificationConfig }: JsonObject): boolean {
  return push_notification_config !== undefined
}

/** In the proto it is written in capitals. */
function isState(status: string | undefined): boolean {
  return status !== undefined && /^[a-z-]+$/.test(status)
}

/** A query has only texts. Most numbers are read from them; these two are not. */
function readFilter(name: string, text: string): Json {
  switch (name) {
    case 'includeArtifacts':
    case 'include_artifacts':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'lastUpdatedAfter':
    case 'last_updated_after':
      return /^\d+$/.test(text) ? Number(text) : text
  }
  return text
}

/** Each thing in a member that says what it is. */
function wrap(wire: JsonObject): JsonObject {
  return { [members[`${wire.kind}`] ?? 'result']: wire }
}

const members: Readonly<Record<string, string>> = {
  task: 'task',
  message: 'message',
  'status-update': 'statusUpdate',
  'artifact-update': 'artifactUpdate',
}

function placed(operation: Operation, wire: JsonObject): RestRequestFields {
  if (operation === 'sendMessage' || operation === 'streamMessage') return { rest: wire }
  const { id, taskId = id, pushNotificationConfigId: configId, ...rest } = wire
  return { taskId, configId, rest }
}
