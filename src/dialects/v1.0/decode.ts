import { invalidParams } from '../../protocol/errors.ts'
import type { SendConfiguration, SendRequest } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import { readParams } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import * as wire from './request-schemas.ts'

export const decodeRequest: ServerDialect['decodeRequest'] = {
  sendMessage: decodeSend,
  streamMessage: decodeSend,
  getTask(params) {
    const { id, ...request } = readParams(wire.GetTaskRequest, params)
    return { ...request, taskId: id }
  },
  listTasks(params) {
    const { status, statusTimestampAfter, ...request } = readParams(wire.ListTasksRequest, params)
    return { ...request, state: status, statusSince: statusTimestampAfter }
  },
  cancelTask(params) {
    const { id, ...request } = readParams(wire.CancelTaskRequest, params)
    return { ...request, taskId: id }
  },
  subscribeToTask(params) {
    const { id, ...request } = readParams(wire.SubscribeToTaskRequest, params)
    return { ...request, taskId: id }
  },
  createPushConfig: (params) => readParams(wire.CreatePushConfigRequest, params),
  getPushConfig: (params) => readParams(wire.PushConfigRequest, params),
  listPushConfigs: (params) => readParams(wire.ListPushConfigsRequest, params),
  deletePushConfig: (params) => readParams(wire.PushConfigRequest, params),
  getExtendedCard: (params) => readParams(wire.GetExtendedCardRequest, params),
}

function decodeSend(params: unknown): SendRequest {
  const { configuration, ...request } = readParams(wire.SendMessageRequest, params)
  if (request.message.role !== 'user') {
    throw invalidParams('message.role', 'expected ROLE_USER, got ROLE_AGENT, which only the agent itself may be')
  }
  return configuration === undefined ? request : { ...request, configuration: decodeConfiguration(configuration) }
}

type WireConfiguration = NonNullable<TypeOf<typeof wire.SendMessageRequest>['configuration']>

function decodeConfiguration({ taskPushNotificationConfig, ...configuration }: WireConfiguration): SendConfiguration {
  return taskPushNotificationConfig === undefined
    ? configuration
    : { ...configuration, push: taskPushNotificationConfig }
}
