import { defined, type JsonObject } from '../../base/json.ts'
import { invalidParams } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/service.ts'
import { struct } from '../../schema/values.ts'
import { readParams } from '../codec.ts'
import { type GrpcBinding, operationsByMethod, type RestClientBinding, type RestServerBinding } from '../dialect.ts'
import { type RestRequestFields, restRequest } from '../rest-request.ts'

export const methods: Readonly<Record<Operation, string>> = {
  sendMessage: 'SendMessage',
  streamMessage: 'SendStreamingMessage',
  getTask: 'GetTask',
  listTasks: 'ListTasks',
  cancelTask: 'CancelTask',
  subscribeToTask: 'SubscribeToTask',
  createPushConfig: 'CreateTaskPushNotificationConfig',
  getPushConfig: 'GetTaskPushNotificationConfig',
  listPushConfigs: 'ListTaskPushNotificationConfigs',
  deletePushConfig: 'DeleteTaskPushNotificationConfig',
  getExtendedCard: 'GetExtendedAgentCard',
}

export const operations = /* @__PURE__ */ operationsByMethod(methods, {
  // The name in the release candidate of 1.0.
  ListTaskPushNotificationConfig: 'listPushConfigs',
})

export const grpc: GrpcBinding = { service: 'lf.a2a.v1.A2AService', versions: ['1.0'] }

/** A tenant is the first segment of the path (A2A 1.0 §11.3). */
export const restClientBinding: RestClientBinding = {
  contentType: 'application/a2a+json',
  prefix: '',
  toRequest(operation, { tenant, ...wire }) {
    const request = restRequest(operation, '/extendedAgentCard', splitFields(operation, wire))
    return typeof tenant === 'string' ? { ...request, path: `/${encodeURIComponent(tenant)}${request.path}` } : request
  },
}

/** Fields of a request may be in the path, the query or the body. The path takes precedence. */
export const restServerBinding: RestServerBinding = {
  prefix: '',
  contentType: 'application/a2a+json',
  recognises: () => true,
  params({ operation, tenant, taskId, configId, query, body }) {
    const { 'A2A-Version': _, lastEventId: __, ...queryFields } = query
    const fields: Record<string, unknown> = { ...queryFields, ...readParams(struct(), body ?? {}) }
    if (tenant !== undefined && fields.tenant !== undefined && fields.tenant !== tenant) {
      throw invalidParams('tenant', 'expected the tenant of the path, or none')
    }
    if (operation === 'listTasks') readListTasksQuery(fields)
    const isPush = operation.endsWith('PushConfig') || operation === 'listPushConfigs'
    const address = taskId === undefined ? {} : isPush ? { taskId } : { id: taskId }
    return { ...fields, ...address, ...defined({ id: configId, tenant: tenant || undefined }) }
  },
}

/** Query values are strings. The schemas read numbers from strings, but not booleans. */
function readListTasksQuery(fields: Record<string, unknown>): void {
  for (const name of ['includeArtifacts', 'include_artifacts']) {
    const value = fields[name]
    if (value === 'true' || value === 'false') fields[name] = value === 'true'
  }
  // The name in drafts of 1.0.
  fields.statusTimestampAfter ??= fields.lastUpdatedAfter
}

function splitFields(operation: Operation, wire: JsonObject): RestRequestFields {
  const { taskId, id, ...fields } = wire
  // The body is the config, with its task id: not every server reads that from the path.
  if (operation === 'createPushConfig') return { taskId, fields: wire }
  return taskId === undefined ? { taskId: id, fields } : { taskId, configId: id, fields }
}
