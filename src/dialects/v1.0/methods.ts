import type { JsonObject } from '../../base/json.ts'
import { invalidParams } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/service.ts'
import { struct } from '../../schema/schema.ts'
import { operationsByMethod, type RestClientBinding, type RestServerBinding } from '../dialect.ts'
import { readParams } from '../read.ts'
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
  // As the release candidate had it.
  ListTaskPushNotificationConfig: 'listPushConfigs',
})

/** A tenant is the first segment of the path (A2A 1.0 §11.3). */
export const restAsking: RestClientBinding = {
  contentType: 'application/a2a+json',
  prefix: '',
  toRequest(operation, { tenant, ...wire }) {
    const place = restRequest(operation, '/extendedAgentCard', placed(operation, wire))
    return typeof tenant === 'string' ? { ...place, path: `/${encodeURIComponent(tenant)}${place.path}` } : place
  },
}

/** Every field of a request is in the path, the query or the body; the path has the last word. */
export const rest: RestServerBinding = {
  contentType: 'application/a2a+json',
  recognises: () => true,
  params({ operation, tenant, taskId, configId, query, body }) {
    const { 'A2A-Version': _, lastEventId: __, ...fields } = query
    const given: Record<string, unknown> = { ...fields, ...readParams(struct(), body ?? {}) }
    if (tenant !== undefined && given.tenant !== undefined && given.tenant !== tenant) {
      throw invalidParams('tenant', 'expected the tenant of the path, or none')
    }
    if (operation === 'listTasks') readFlags(given)
    const isPush = operation.endsWith('PushConfig') || operation === 'listPushConfigs'
    const address = taskId === undefined ? {} : isPush ? { taskId } : { id: taskId }
    return { ...given, ...address, ...(configId !== undefined && { id: configId }), ...(tenant && { tenant }) }
  },
}

/** A query has only texts; numbers are read from them, flags are not. */
function readFlags(given: Record<string, unknown>): void {
  for (const name of ['includeArtifacts', 'include_artifacts']) {
    const value = given[name]
    if (value === 'true' || value === 'false') given[name] = value === 'true'
  }
  // What the member was called in drafts of 1.0.
  given.statusTimestampAfter ??= given.lastUpdatedAfter
}

function placed(operation: Operation, wire: JsonObject): RestRequestFields {
  const { taskId, id, ...rest } = wire
  // Its body is the config, which knows its task, too: not every server looks into the path.
  if (operation === 'createPushConfig') return { taskId, rest: wire }
  return taskId === undefined ? { taskId: id, rest } : { taskId, configId: id, rest }
}
