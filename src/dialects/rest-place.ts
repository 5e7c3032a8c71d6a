import { invalidParams } from '../protocol/errors.ts'
import type { Json, JsonObject } from '../protocol/model.ts'
import type { Operation } from '../protocol/service.ts'
import type { RestPlace } from './dialect.ts'

/** What a request is about, taken out of it; the rest of it goes into the query or the body. */
export interface Placed {
  readonly taskId?: Json
  readonly configId?: Json
  readonly rest: JsonObject
}

/** The paths of REST, which all versions have in common but for what they begin with and the one of the card. */
export function restPlace(operation: Operation, cardPath: string, { taskId, configId, rest }: Placed): RestPlace {
  const task = () => `/tasks/${segment('taskId', taskId)}`
  const configs = () => `${task()}/pushNotificationConfigs`
  const config = () => `${configs()}/${segment('id', configId)}`
  switch (operation) {
    case 'sendMessage':
      return { method: 'POST', path: '/message:send', body: rest }
    case 'streamMessage':
      return { method: 'POST', path: '/message:stream', body: rest }
    case 'getTask':
      return { method: 'GET', path: task(), query: rest }
    case 'listTasks':
      return { method: 'GET', path: '/tasks', query: rest }
    case 'cancelTask':
      return { method: 'POST', path: `${task()}:cancel`, body: rest }
    case 'subscribeToTask':
      return { method: 'POST', path: `${task()}:subscribe`, body: rest }
    case 'createPushConfig':
      return { method: 'POST', path: configs(), body: rest }
    case 'getPushConfig':
      return { method: 'GET', path: config() }
    case 'listPushConfigs':
      return { method: 'GET', path: configs(), query: rest }
    case 'deletePushConfig':
      return { method: 'DELETE', path: config() }
    case 'getExtendedCard':
      return { method: 'GET', path: cardPath }
  }
}

/** An id that is missing would make it the path of something else. */
function segment(field: string, id: Json | undefined): string {
  if (typeof id !== 'string' || id === '') throw invalidParams(field, 'expected an id: REST has it in the path')
  return encodeURIComponent(id)
}
