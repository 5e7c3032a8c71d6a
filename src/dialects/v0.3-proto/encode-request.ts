import type { JsonObject } from '../../protocol/model.ts'
import type { PushConfig, PushConfigRef, SendConfiguration, SendRequest, TaskAddress } from '../../protocol/service.ts'
import type { ClientDialect } from '../dialect.ts'
import { filled } from '../filled.ts'
import { carried } from './carry.ts'
import { addressOf, encodeMessage, encodeNamedConfig, encodePushConfig } from './encode-objects.ts'
import { configName, taskName } from './names.ts'
import { State } from './schemas.ts'

export const encodeRequest: ClientDialect['encodeRequest'] = {
  // Agents disagree on what it means if nothing is said, so it is always said.
  sendMessage: (request) => encodeSend(request, { blocking: true }),
  streamMessage: (request) => encodeSend(request, {}),
  getTask: ({ taskId, historyLength }) => filled({ name: taskName(taskId), historyLength }),
  listTasks({ contextId, state, statusSince, pageSize, pageToken, historyLength, includeArtifacts }) {
    const status = state && State.names[state]
    const page = { pageSize, pageToken, historyLength, includeArtifacts }
    return filled({ contextId, status, statusTimestampAfter: statusSince, ...page })
  },
  cancelTask: encodeAddress,
  subscribeToTask: encodeAddress,
  createPushConfig: encodeNewConfig,
  getPushConfig: encodePushConfigRef,
  listPushConfigs: ({ taskId, pageSize, pageToken }) =>
    filled({ parent: taskName(taskId), pageSize: pageSize || undefined, pageToken }),
  deletePushConfig: encodePushConfigRef,
  getExtendedCard: () => ({}),
}

/** `unsaid` is what the configuration says unless the request does. */
function encodeSend(request: SendRequest, unsaid: JsonObject): JsonObject {
  const { message, configuration, metadata } = request
  const isOpen = configuration?.returnImmediately === undefined && !carried(request.carry).asSent
  const told = { ...(isOpen && unsaid), ...encodeConfiguration(configuration) }
  const isTold = configuration !== undefined || Object.keys(told).length > 0
  return filled({ message: encodeMessage(message), configuration: isTold ? told : undefined, metadata })
}

function encodeConfiguration(configuration: SendConfiguration = {}): JsonObject {
  const { acceptedOutputModes, historyLength, returnImmediately, push } = configuration
  return filled({
    acceptedOutputModes,
    pushNotification: push && encodePushConfig(push),
    historyLength,
    blocking: returnImmediately === false || undefined,
  })
}

function encodeAddress({ taskId }: TaskAddress): JsonObject {
  return { name: taskName(taskId) }
}

function encodePushConfigRef(ref: PushConfigRef): JsonObject {
  return { name: configName(addressOf(ref)) }
}

function encodeNewConfig(config: PushConfig): JsonObject {
  const { taskId, id } = addressOf(config)
  const { name, ...rest } = encodeNamedConfig(config)
  const { name: given = name } = carried(config.carry)
  return { parent: taskName(taskId), configId: id, config: given ? { name: given, ...rest } : rest }
}
