import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { Operation } from '../../protocol/service.ts'
import { struct } from '../../schema/values.ts'
import { readParams } from '../codec.ts'
import { type GrpcBinding, operationsByMethod, type RestClientBinding, type RestServerBinding } from '../dialect.ts'
import { type RestRequestFields, restRequest } from '../rest-request.ts'
import { configName, taskName } from './resource-names.ts'

/** The gRPC methods; JSON-RPC has other objects. The specification has no method to list tasks, but a REST path. */
export const methods: Readonly<Partial<Record<Operation, string>>> = {
  sendMessage: 'SendMessage',
  streamMessage: 'SendStreamingMessage',
  getTask: 'GetTask',
  cancelTask: 'CancelTask',
  subscribeToTask: 'TaskSubscription',
  createPushConfig: 'CreateTaskPushNotificationConfig',
  getPushConfig: 'GetTaskPushNotificationConfig',
  listPushConfigs: 'ListTaskPushNotificationConfig',
  deletePushConfig: 'DeleteTaskPushNotificationConfig',
  getExtendedCard: 'GetAgentCard',
}

/** Clients of a2a-go call a method to list tasks. */
export const serverMethods = { ...methods, listTasks: 'ListTasks' }

export const operations = /* @__PURE__ */ operationsByMethod(serverMethods, {
  // The names up to 0.2.4.
  CreateTaskPushNotification: 'createPushConfig',
  GetTaskPushNotification: 'getPushConfig',
  ListTaskPushNotification: 'listPushConfigs',
})

export const grpc: GrpcBinding = {
  service: 'a2a.v1.A2AService',
  versions: ['0.3', '0.2'],
  // A2A 0.3 leaves the status open. Its SDKs agreed on UNIMPLEMENTED and recognize these errors by it alone.
  statuses: {
    'push-not-supported': 'UNIMPLEMENTED',
    'unsupported-operation': 'UNIMPLEMENTED',
    'streaming-not-supported': 'UNIMPLEMENTED',
  },
  namesErrors: true,
  hasPublicCard: true,
}

export const restClientBinding: RestClientBinding = {
  contentType: 'application/json',
  prefix: '/v1',
  toRequest(operation, wire) {
    const request = restRequest(operation, '/card', splitFields(wire))
    // The SDKs expect the whole request as the body; by the proto, the body is the config alone.
    return operation === 'createPushConfig' && isObject(wire.config)
      ? { ...request, alternativeBody: wire.config }
      : request
  },
}

/** Resource names are in the path; other fields are in the query or the body. */
export const restServerBinding: RestServerBinding = {
  prefix: '/v1',
  contentType: 'application/json',
  olderEqualVersion: '0.2',
  missingCardIsNotFound: true,
  recognises: ({ body }) => isObject(body) && (isProtoMessage(body.message ?? body.request) || isProtoConfig(body)),
  params({ operation, taskId = '', configId = '', query, body }) {
    // Some clients send null to cancel.
    const fields = { ...query, ...readParams(struct(), body ?? {}) }
    switch (operation) {
      case 'sendMessage':
      case 'streamMessage':
        return body
      case 'getTask':
      case 'cancelTask':
      case 'subscribeToTask':
        return { ...fields, name: taskName(taskId) }
      case 'listTasks':
        return readFlags(fields)
      case 'createPushConfig':
        // By the proto, the body is the config; by the text, it is wrapped.
        return { ...withConfigId('config' in fields ? fields : { ...query, config: body }), parent: taskName(taskId) }
      case 'getPushConfig':
      case 'deletePushConfig':
        return { name: configName({ taskId, id: configId }) }
      case 'listPushConfigs':
        return { ...fields, parent: taskName(taskId) }
      case 'getExtendedCard':
        return {}
    }
  },
}

function isProtoMessage(message: unknown): boolean {
  if (!isObject(message)) return false
  const { content, role } = message
  return content !== undefined || typeof role === 'number' || (typeof role === 'string' && role.startsWith('ROLE_'))
}

/** A config without a wrapper or a name could also be a JSON-RPC object. */
function isProtoConfig({ config, parent, name }: JsonObject): boolean {
  return config !== undefined || parent !== undefined || name !== undefined
}

/** Query values are strings. The schemas read numbers from strings, but not booleans. */
function readFlags(fields: Fields): Fields {
  const { includeArtifacts = fields.include_artifacts } = fields
  if (includeArtifacts !== 'true' && includeArtifacts !== 'false') return fields
  const { include_artifacts: _, ...rest } = fields
  return { ...rest, includeArtifacts: includeArtifacts === 'true' }
}

type Fields = Readonly<Record<string, unknown>>

/** Over REST, the id of a new config may be only at the end of its name. */
function withConfigId(fields: Fields): Fields {
  const { config, config_id, configId = config_id } = fields
  const name = isObject(config) ? config.name : undefined
  const [, id] = typeof name === 'string' ? (/\/pushNotificationConfigs\/(.+)$/s.exec(name) ?? []) : []
  return configId === undefined && id !== undefined ? { ...fields, configId: id } : fields
}

/** Resource names are paths. */
function splitFields({ name, parent, ...rest }: JsonObject): RestRequestFields {
  const [, taskId, configId] = idsIn(name ?? parent)
  return { taskId, configId, fields: parent === undefined || rest.config === undefined ? rest : { parent, ...rest } }
}

function idsIn(name: Json | undefined): readonly (string | undefined)[] {
  const pattern = /^tasks\/(.+?)(?:\/pushNotificationConfigs\/(.+))?$/s
  return typeof name === 'string' ? (pattern.exec(name) ?? []) : []
}
