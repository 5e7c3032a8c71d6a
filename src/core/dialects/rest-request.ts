import type { Json, JsonObject } from '../base/json.ts'
import { invalidParams } from '../protocol/errors.ts'
import type { Operation } from '../protocol/service.ts'
import type { RestRequest } from './dialect.ts'

const pushConfigs = '/tasks/{taskId}/pushNotificationConfigs'

/** The params of a request, split into ids for the path and fields for the query or the body. */
export interface RestRequestFields {
  readonly taskId?: Json
  readonly configId?: Json
  readonly fields: JsonObject
}

/** Builds the REST request of an operation. All versions share the paths except for a prefix and `cardPath`. */
export function restRequest(
  operation: Operation,
  cardPath: string,
  { taskId, configId, fields }: RestRequestFields,
): RestRequest {
  if (operation === 'getExtendedCard') return { method: 'GET', path: cardPath }
  const [method, template, location] = routes[operation]
  const path = template.replaceAll(/{(\w+)}/g, (_, name: string) => segment(name, name === 'id' ? configId : taskId))
  return { method, path, ...(location && { [location]: fields }) }
}

const routes: Readonly<Record<Exclude<Operation, 'getExtendedCard'>, Route>> = {
  sendMessage: ['POST', '/message:send', 'body'],
  streamMessage: ['POST', '/message:stream', 'body'],
  getTask: ['GET', '/tasks/{taskId}', 'query'],
  listTasks: ['GET', '/tasks', 'query'],
  cancelTask: ['POST', '/tasks/{taskId}:cancel', 'body'],
  subscribeToTask: ['POST', '/tasks/{taskId}:subscribe', 'body'],
  createPushConfig: ['POST', pushConfigs, 'body'],
  getPushConfig: ['GET', `${pushConfigs}/{id}`],
  listPushConfigs: ['GET', pushConfigs, 'query'],
  deletePushConfig: ['DELETE', `${pushConfigs}/{id}`],
}

type Route = readonly [method: RestRequest['method'], path: string, location?: 'query' | 'body']

/** Without its id, a path would be that of another operation. */
function segment(field: string, id: Json | undefined): string {
  if (typeof id !== 'string' || id === '') throw invalidParams(field, 'expected an id: REST has it in the path')
  return encodeURIComponent(id)
}
