import type { Operation } from '../protocol/service.ts'

export interface OlderMethod {
  /** The versions of A2A that have it. */
  readonly versions: string
  readonly operation: Operation
}

/** Methods of dialects that are not served, so that a caller learns what is wrong and what to write instead. */
export const olderMethods: ReadonlyMap<string, OlderMethod> = new Map([
  ['tasks/send', { versions: '0.1', operation: 'sendMessage' }],
  ['tasks/sendSubscribe', { versions: '0.1', operation: 'streamMessage' }],
  ['tasks/pushNotification/set', { versions: '0.1', operation: 'createPushConfig' }],
  ['tasks/pushNotification/get', { versions: '0.1', operation: 'getPushConfig' }],
  ['tasks/get', { versions: '0.1 to 0.3', operation: 'getTask' }],
  ['tasks/cancel', { versions: '0.1 to 0.3', operation: 'cancelTask' }],
  ['tasks/resubscribe', { versions: '0.1 to 0.3', operation: 'subscribeToTask' }],
  ['message/send', { versions: '0.2 and 0.3', operation: 'sendMessage' }],
  ['message/stream', { versions: '0.2 and 0.3', operation: 'streamMessage' }],
  ['tasks/pushNotificationConfig/set', { versions: '0.2 and 0.3', operation: 'createPushConfig' }],
  ['tasks/pushNotificationConfig/get', { versions: '0.2 and 0.3', operation: 'getPushConfig' }],
  ['tasks/pushNotificationConfig/list', { versions: '0.2 and 0.3', operation: 'listPushConfigs' }],
  ['tasks/pushNotificationConfig/delete', { versions: '0.2 and 0.3', operation: 'deletePushConfig' }],
  ['agent/authenticatedExtendedCard', { versions: '0.2 and 0.3', operation: 'getExtendedCard' }],
  ['agent/getAuthenticatedExtendedCard', { versions: '0.3', operation: 'getExtendedCard' }],
  ['tasks/list', { versions: '0.3', operation: 'listTasks' }],
])
