import type { Operation } from '../../protocol/service.ts'
import { operationsByMethod } from '../dialect.ts'

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
