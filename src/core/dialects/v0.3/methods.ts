import { defined, isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { Operation } from '../../protocol/service.ts'
import { operationsByMethod, type RestClientBinding, type RestServerBinding } from '../dialect.ts'
import { type RestRequestFields, restRequest } from '../rest-request.ts'

export const methods: Readonly<Record<Operation, string>> = {
  sendMessage: 'message/send',
  streamMessage: 'message/stream',
  getTask: 'tasks/get',
  // Never released: only in the drafts after 0.3.0.
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
  // The name in A2A 0.3.0 §11.1.3.
  'agent/authenticatedExtendedCard': 'getExtendedCard',
})

/** For agents that take the JSON-RPC objects over REST, such as those of a2a-js 0.3.6 and 0.3.7. */
export const restClientBinding: RestClientBinding = {
  contentType: 'application/json',
  prefix: '/v1',
  toRequest: (operation, wire) => restRequest(operation, '/card', splitFields(operation, wire)),
}

/**
 * The JSON-RPC objects over REST, as a2a-js 0.3.6 and 0.3.7 send them. The text of 0.3 can be read that way; its proto,
 * which most clients follow, is the dialect `v0.3-proto`.
 */
export const restServerBinding: RestServerBinding = {
  prefix: '/v1',
  contentType: 'application/json',
  olderEqualVersion: '0.2',
  missingCardIsNotFound: true,
  // Over REST, most calls of the house cannot be distinguished from those of 0.3.
  hasTraceMetadata: true,
  recognises: ({ body, query }) =>
    isObject(body) ? isJsonRpcMessage(body.message) || isJsonRpcConfig(body) : isJsonRpcState(query.status),
  params({ operation, taskId, configId, query, body }) {
    const fields = isObject(body) ? body : {}
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
        return { ...fields, id: taskId }
      case 'createPushConfig':
        return hasConfig(fields) ? { ...fields, taskId } : { pushNotificationConfig: fields, taskId }
      case 'getPushConfig':
      case 'listPushConfigs':
      case 'deletePushConfig':
        return { id: taskId, pushNotificationConfigId: configId }
      case 'getExtendedCard':
        return {}
    }
  },
}

export type RestEnvelope = 'bare' | 'wrapped'

export interface RestOptions {
  /** Whether responses are wrapped in an object: the text of 0.3 can be read either way. */
  readonly restEnvelope?: RestEnvelope
  /** Cancels a task whose caller leaves its stream. */
  readonly cancelOnDisconnect?: boolean
}

export function withRestOptions(
  binding: RestServerBinding,
  { restEnvelope, cancelOnDisconnect }: RestOptions,
): RestServerBinding {
  return {
    ...binding,
    ...defined({
      wrap: restEnvelope === 'wrapped' ? wrap : undefined,
      cancelsOnDisconnect: cancelOnDisconnect ? true : undefined,
    }),
  }
}

function isJsonRpcMessage(message: unknown): boolean {
  return isObject(message) && (message.kind !== undefined || message.role === 'user' || message.role === 'agent')
}

/** In the proto, it has a name or a parent as well. */
function isJsonRpcConfig(body: JsonObject): boolean {
  return hasConfig(body) && body.name === undefined && body.parent === undefined
}

function hasConfig({ pushNotificationConfig, push_notification_config = pushNotificationConfig }: JsonObject): boolean {
  return push_notification_config !== undefined
}

/** In the proto, states are in upper case. */
function isJsonRpcState(status: string | undefined): boolean {
  return status !== undefined && /^[a-z-]+$/.test(status)
}

/** Query values are strings. The schemas read most numbers from strings, but not these two fields. */
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

/** Wraps an object in one whose only member names its kind. */
function wrap(wire: JsonObject): JsonObject {
  return { [memberOfKind[`${wire.kind}`] ?? 'result']: wire }
}

const memberOfKind: Readonly<Record<string, string>> = {
  task: 'task',
  message: 'message',
  'status-update': 'statusUpdate',
  'artifact-update': 'artifactUpdate',
}

function splitFields(operation: Operation, wire: JsonObject): RestRequestFields {
  if (operation === 'sendMessage' || operation === 'streamMessage') return { fields: wire }
  const { id, taskId = id, pushNotificationConfigId: configId, ...fields } = wire
  return { taskId, configId, fields }
}
