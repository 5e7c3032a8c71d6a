import type { Json, JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { Operation } from '../../protocol/service.ts'
import { struct } from '../../schema/schema.ts'
import { operationsByMethod, type RestClientBinding, type RestServerBinding } from '../dialect.ts'
import { readParams } from '../read.ts'
import { type RestRequestFields, restRequest } from '../rest-request.ts'
import { configName, taskName } from './resource-names.ts'

/** Of gRPC, by which this dialect is called; JSON-RPC has other objects. There is none to list tasks: REST has a path. */
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

export const operations = /* @__PURE__ */ operationsByMethod(methods, {
  // As they were called up to 0.2.4.
  CreateTaskPushNotification: 'createPushConfig',
  GetTaskPushNotification: 'getPushConfig',
  ListTaskPushNotification: 'listPushConfigs',
})

export const restAsking: RestClientBinding = {
  contentType: 'application/json',
  prefix: '/v1',
  toRequest(operation, wire) {
    const place = restRequest(operation, '/card', placed(wire))
    // The whole request is what the SDKs take for the body; its config alone is what the proto says.
    return operation === 'createPushConfig' && isObject(wire.config)
      ? { ...place, alternativeBody: wire.config }
      : place
  },
}

/** The path has the names; every other field is in the query or the body. */
export const rest: RestServerBinding = {
  contentType: 'application/json',
  olderEqualVersion: '0.2',
  missingCardIsNotFound: true,
  recognises: ({ body }) => isObject(body) && (isOurMessage(body.message ?? body.request) || isOurConfig(body)),
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
        // The annotation of the proto makes the config the body; the text wraps it.
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

function isOurMessage(message: unknown): boolean {
  if (!isObject(message)) return false
  const { content, role } = message
  return content !== undefined || typeof role === 'number' || (typeof role === 'string' && role.startsWith('ROLE_'))
}

/** Without a wrapper or a name it may as well be one of JSON-RPC. */
function isOurConfig({ config, parent, name }: JsonObject): boolean {
  return config !== undefined || parent !== undefined || name !== undefined
}

/** A query has only texts; numbers are read from them, flags are not. */
function readFlags(fields: Fields): Fields {
  const { includeArtifacts = fields.include_artifacts } = fields
  if (includeArtifacts !== 'true' && includeArtifacts !== 'false') return fields
  const { include_artifacts: _, ...rest } = fields
  return { ...rest, includeArtifacts: includeArtifacts === 'true' }
}

type Fields = Readonly<Record<string, unknown>>

/** Over REST the id of a new config may only be at the end of its name. */
function withConfigId(fields: Fields): Fields {
  const { config, config_id, configId = config_id } = fields
  const name = isObject(config) ? config.name : undefined
  const [, id] = typeof name === 'string' ? (/\/pushNotificationConfigs\/(.+)$/s.exec(name) ?? []) : []
  return configId === undefined && id !== undefined ? { ...fields, configId: id } : fields
}

/** Names of resources are the paths of them. */
function placed({ name, parent, ...rest }: JsonObject): RestRequestFields {
  const [, taskId, configId] = idsIn(name ?? parent)
  return { taskId, configId, rest: parent === undefined || rest.config === undefined ? rest : { parent, ...rest } }
}

function idsIn(name: Json | undefined): readonly (string | undefined)[] {
  const form = /^tasks\/(.+?)(?:\/pushNotificationConfigs\/(.+))?$/s
  return typeof name === 'string' ? (form.exec(name) ?? []) : []
}
