import type { Json, JsonObject } from '../base/json.ts'
import { invalidParams } from '../protocol/errors.ts'
import type { Operation } from '../protocol/service.ts'
import type { RestRequest } from './dialect.ts'

const configs = '/tasks/{taskId}/pushNotificationConfigs'

/** What a request is about, taken out of it; the rest of it goes into the query or the body. */
export interface RestRequestFields {
  readonly taskId?: Json
  readonly configId?: Json
  readonly rest: JsonObject
}

/** The paths of REST, which all versions have in common but for what they begin with and the one of the card. */
export function restRequest(
  operation: Operation,
  cardPath: string,
  { taskId, configId, rest }: RestRequestFields,
): RestRequest {
  if (operation === 'getExtendedCard') return { method: 'GET', path: cardPath }
  const [method, form, restGoes] = places[operation]
  const path = form.replaceAll(/{(\w+)}/g, (_, name: string) => segment(name, name === 'id' ? configId : taskId))
  return { method, path, ...(restGoes && { [restGoes]: rest }) }
}

const places: Readonly<Record<Exclude<Operation, 'getExtendedCard'>, Place>> = {
  sendMessage: ['POST', '/message:send', 'body'],
  streamMessage: ['POST', '/message:stream', 'body'],
  getTask: ['GET', '/tasks/{taskId}', 'query'],
  listTasks: ['GET', '/tasks', 'query'],
  cancelTask: ['POST', '/tasks/{taskId}:cancel', 'body'],
  subscribeToTask: ['POST', '/tasks/{taskId}:subscribe', 'body'],
  createPushConfig: ['POST', configs, 'body'],
  getPushConfig: ['GET', `${configs}/{id}`],
  listPushConfigs: ['GET', configs, 'query'],
  deletePushConfig: ['DELETE', `${configs}/{id}`],
}

type Place = readonly [method: RestRequest['method'], path: string, rest?: 'query' | 'body']

/** An id that is missing would make it the path of something else. */
function segment(field: string, id: Json | undefined): string {
  if (typeof id !== 'string' || id === '') throw invalidParams(field, 'expected an id: REST has it in the path')
  return encodeURIComponent(id)
}
