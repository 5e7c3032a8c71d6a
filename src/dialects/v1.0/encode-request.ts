import type { JsonObject } from '../../protocol/model.ts'
import type { PushConfigRef, SendConfiguration, SendRequest } from '../../protocol/service.ts'
import type { ClientDialect } from '../dialect.ts'
import { filled } from '../filled.ts'
import { encodeMessage, encodePushConfig } from './encode-message.ts'
import { stateNames } from './words.ts'

export const encodeRequest: ClientDialect['encodeRequest'] = {
  sendMessage: encodeSend,
  streamMessage: encodeSend,
  getTask: ({ tenant, taskId, historyLength }) => filled({ tenant, id: taskId, historyLength }),
  listTasks({ tenant, contextId, state, statusSince, pageSize, pageToken, historyLength, includeArtifacts }) {
    const status = state && stateNames[state]
    const page = { pageSize, pageToken, historyLength, includeArtifacts }
    return filled({ tenant, contextId, status, statusTimestampAfter: statusSince, ...page })
  },
  cancelTask: ({ tenant, taskId, metadata }) => filled({ tenant, id: taskId, metadata }),
  subscribeToTask: ({ tenant, taskId }) => filled({ tenant, id: taskId }),
  createPushConfig: encodePushConfig,
  getPushConfig: encodePushConfigRef,
  listPushConfigs: ({ tenant, taskId, pageSize, pageToken }) =>
    filled({ tenant, taskId, pageSize: pageSize || undefined, pageToken }),
  deletePushConfig: encodePushConfigRef,
  getExtendedCard: ({ tenant }) => filled({ tenant }),
}

function encodeSend({ tenant, message, configuration, metadata }: SendRequest): JsonObject {
  return filled({
    tenant,
    message: encodeMessage(message),
    configuration: configuration && encodeConfiguration(configuration),
    metadata,
  })
}

function encodeConfiguration(configuration: SendConfiguration): JsonObject {
  const { acceptedOutputModes, historyLength, returnImmediately, push } = configuration
  return filled({
    acceptedOutputModes,
    taskPushNotificationConfig: push && encodePushConfig(push),
    historyLength,
    returnImmediately: returnImmediately || undefined,
  })
}

function encodePushConfigRef({ tenant, taskId, id }: PushConfigRef): JsonObject {
  return filled({ tenant, taskId, id })
}
