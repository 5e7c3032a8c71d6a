import type { Operation } from '../../protocol/service.ts'
import { operationsByMethod } from '../dialect.ts'

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
