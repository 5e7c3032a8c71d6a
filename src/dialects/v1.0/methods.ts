import type { Operation } from '../../protocol/service.ts'
import { operationsByMethod } from '../dialect.ts'

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
