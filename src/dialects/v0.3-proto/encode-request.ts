import type { JsonObject } from '../../protocol/model.ts'
import type { PushConfig, PushConfigRef, SendConfiguration, SendRequest, TaskAddress } from '../../protocol/service.ts'
import type { ClientDialect } from '../dialect.ts'
import type { Draft } from '../draft.ts'
import { carried } from './carry.ts'
import { addressOf, encodeMessage, encodeNamedConfig, encodePushConfig } from './encode-objects.ts'
import { configName, taskName } from './names.ts'
import { State } from './schemas.ts'

export const encodeRequest: ClientDialect['encodeRequest'] = {
  // Agents disagree on what it means if nothing is said, so it is always said.
  sendMessage: (request) => encodeSend(request, { blocking: true }),
  streamMessage: (request) => encodeSend(request, {}),
  getTask({ taskId, historyLength }) {
    const wire: Draft = { name: taskName(taskId) }
    if (historyLength !== undefined) wire.historyLength = historyLength
    return wire
  },
  listTasks({ contextId, state, statusSince, pageSize, pageToken, historyLength, includeArtifacts }) {
    const wire: Draft = {}
    if (contextId) wire.contextId = contextId
    if (state) wire.status = State.names[state]
    if (pageSize !== undefined) wire.pageSize = pageSize
    if (pageToken) wire.pageToken = pageToken
    if (historyLength !== undefined) wire.historyLength = historyLength
    if (statusSince) wire.statusTimestampAfter = statusSince
    if (includeArtifacts !== undefined) wire.includeArtifacts = includeArtifacts
    return wire
  },
  cancelTask: encodeAddress,
  subscribeToTask: encodeAddress,
  createPushConfig: encodeNewConfig,
  getPushConfig: encodePushConfigRef,
  listPushConfigs({ taskId, pageSize, pageToken }) {
    const wire: Draft = { parent: taskName(taskId) }
    if (pageSize) wire.pageSize = pageSize
    if (pageToken) wire.pageToken = pageToken
    return wire
  },
  deletePushConfig: encodePushConfigRef,
  getExtendedCard: () => ({}),
}

/** `unsaid` is what the configuration says unless the request does. */
function encodeSend(request: SendRequest, unsaid: JsonObject): JsonObject {
  const { message, configuration, metadata } = request
  const wire: Draft = { message: encodeMessage(message) }
  const isOpen = configuration?.returnImmediately === undefined && !carried(request.carry).asSent
  const told = { ...(isOpen && unsaid), ...encodeConfiguration(configuration) }
  if (configuration !== undefined || Object.keys(told).length > 0) wire.configuration = told
  if (metadata) wire.metadata = metadata
  return wire
}

function encodeConfiguration(configuration: SendConfiguration = {}): JsonObject {
  const { acceptedOutputModes, historyLength, returnImmediately, push } = configuration
  const wire: Draft = {}
  if (acceptedOutputModes?.length) wire.acceptedOutputModes = acceptedOutputModes
  if (push) wire.pushNotification = encodePushConfig(push)
  if (historyLength !== undefined) wire.historyLength = historyLength
  if (returnImmediately === false) wire.blocking = true
  return wire
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
