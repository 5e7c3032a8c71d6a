import type { JsonObject } from '../../protocol/model.ts'
import type { PushConfigRef, SendConfiguration, SendRequest, TaskAddress } from '../../protocol/service.ts'
import type { ClientDialect } from '../dialect.ts'
import type { Draft } from '../draft.ts'
import { carried } from './carry.ts'
import { encodeMessage, encodePushConfig, encodeTaskPushConfig } from './encode-objects.ts'

export const encodeRequest: ClientDialect['encodeRequest'] = {
  // Agents disagree on what it means if nothing is said, so it is always said.
  sendMessage: (request) => encodeSend(request, { blocking: true }),
  streamMessage: (request) => encodeSend(request, {}),
  getTask({ historyLength, ...address }) {
    const wire = draftAddress(address)
    if (historyLength !== undefined) wire.historyLength = historyLength
    return wire
  },
  listTasks({ contextId, state, statusSince, pageSize, pageToken, historyLength, includeArtifacts, metadata }) {
    const wire: Draft = {}
    if (contextId !== undefined) wire.contextId = contextId
    if (state !== undefined) wire.status = state
    if (statusSince !== undefined) wire.lastUpdatedAfter = Date.parse(statusSince)
    if (pageSize !== undefined) wire.pageSize = pageSize
    if (pageToken !== undefined) wire.pageToken = pageToken
    if (historyLength !== undefined) wire.historyLength = historyLength
    if (includeArtifacts !== undefined) wire.includeArtifacts = includeArtifacts
    if (metadata !== undefined) wire.metadata = metadata
    return wire
  },
  cancelTask: draftAddress,
  subscribeToTask: draftAddress,
  createPushConfig(config) {
    const { id, ...unnamed } = config
    return encodeTaskPushConfig(carried(config.carry).isUnnamed && id === config.taskId ? unnamed : config)
  },
  getPushConfig: encodePushConfigRef,
  listPushConfigs: draftAddress,
  deletePushConfig: encodePushConfigRef,
  getExtendedCard: () => ({}),
}

/** `unsaid` is what the configuration says unless the request does. */
export function encodeSend({ message, configuration, metadata, carry }: SendRequest, unsaid: JsonObject): JsonObject {
  const wire: Draft = { message: encodeMessage(message) }
  const told = { ...(!carried(carry).asSent && unsaid), ...encodeConfiguration(configuration) }
  if (configuration !== undefined || Object.keys(told).length > 0) wire.configuration = told
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

function encodeConfiguration(configuration: SendConfiguration = {}): JsonObject {
  const { acceptedOutputModes, historyLength, returnImmediately, push } = configuration
  const wire: Draft = {}
  if (acceptedOutputModes !== undefined) wire.acceptedOutputModes = acceptedOutputModes
  if (historyLength !== undefined) wire.historyLength = historyLength
  if (returnImmediately !== undefined) wire.blocking = !returnImmediately
  if (push !== undefined) wire.pushNotificationConfig = encodePushConfig(push)
  return wire
}

function draftAddress({ taskId, metadata }: TaskAddress): Draft {
  const wire: Draft = { id: taskId }
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

function encodePushConfigRef({ id, ...address }: PushConfigRef): JsonObject {
  const wire = draftAddress(address)
  if (id !== undefined) wire.pushNotificationConfigId = id
  return wire
}
