import type { JsonObject } from '../../protocol/model.ts'
import type { PushConfigRef, SendConfiguration, SendRequest, TaskAddress } from '../../protocol/service.ts'
import type { ClientDialect } from '../dialect.ts'
import { present } from '../filled.ts'
import { carried } from './carry.ts'
import { encodeMessage, encodePushConfig, encodeTaskPushConfig } from './encode-objects.ts'

export const encodeRequest: ClientDialect['encodeRequest'] = {
  // Agents disagree on what it means if nothing is said, so it is always said.
  sendMessage: (request) => encodeSend(request, { blocking: true }),
  streamMessage: (request) => encodeSend(request, {}),
  getTask: ({ historyLength, ...address }) => present({ ...addressOf(address), historyLength }),
  listTasks({ state, statusSince, contextId, pageSize, pageToken, historyLength, includeArtifacts, metadata }) {
    const lastUpdatedAfter = statusSince === undefined ? undefined : Date.parse(statusSince)
    const page = { pageSize, pageToken, historyLength, includeArtifacts }
    return present({ contextId, status: state, lastUpdatedAfter, ...page, metadata })
  },
  cancelTask: (address) => present(addressOf(address)),
  subscribeToTask: (address) => present(addressOf(address)),
  createPushConfig(config) {
    const { id, ...unnamed } = config
    return encodeTaskPushConfig(carried(config.carry).isUnnamed && id === config.taskId ? unnamed : config)
  },
  getPushConfig: encodePushConfigRef,
  listPushConfigs: (address) => present(addressOf(address)),
  deletePushConfig: encodePushConfigRef,
  getExtendedCard: () => ({}),
}

/** `unsaid` is what the configuration says unless the request does. */
export function encodeSend({ message, configuration, metadata, carry }: SendRequest, unsaid: JsonObject): JsonObject {
  const told = { ...(!carried(carry).asSent && unsaid), ...encodeConfiguration(configuration) }
  const isTold = configuration !== undefined || Object.keys(told).length > 0
  return present({ message: encodeMessage(message), configuration: isTold ? told : undefined, metadata })
}

function encodeConfiguration(configuration: SendConfiguration = {}): JsonObject {
  const { acceptedOutputModes, historyLength, returnImmediately, push } = configuration
  return present({
    acceptedOutputModes,
    historyLength,
    blocking: returnImmediately === undefined ? undefined : !returnImmediately,
    pushNotificationConfig: push && encodePushConfig(push),
  })
}

function addressOf({ taskId, metadata }: TaskAddress) {
  return { id: taskId, metadata }
}

function encodePushConfigRef({ id, ...address }: PushConfigRef): JsonObject {
  return present({ ...addressOf(address), pushNotificationConfigId: id })
}
