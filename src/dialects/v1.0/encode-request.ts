import type { JsonObject } from '../../protocol/model.ts'
import type { PushConfigRef, SendConfiguration, SendRequest, TaskAddress } from '../../protocol/service.ts'
import type { ClientDialect } from '../dialect.ts'
import type { Draft } from '../draft.ts'
import { encodeMessage, encodePushConfig } from './encode-objects.ts'
import { State } from './schemas.ts'

export const encodeRequest: ClientDialect['encodeRequest'] = {
  sendMessage: encodeSend,
  streamMessage: encodeSend,
  getTask({ historyLength, ...address }) {
    const wire = draftAddress(address)
    if (historyLength !== undefined) wire.historyLength = historyLength
    return wire
  },
  listTasks({ tenant, contextId, state, statusSince, pageSize, pageToken, historyLength, includeArtifacts }) {
    const wire = draftFor(tenant)
    if (contextId) wire.contextId = contextId
    if (state) wire.status = State.names[state]
    if (pageSize !== undefined) wire.pageSize = pageSize
    if (pageToken) wire.pageToken = pageToken
    if (historyLength !== undefined) wire.historyLength = historyLength
    if (statusSince) wire.statusTimestampAfter = statusSince
    if (includeArtifacts !== undefined) wire.includeArtifacts = includeArtifacts
    return wire
  },
  cancelTask({ metadata, ...address }) {
    const wire = draftAddress(address)
    if (metadata) wire.metadata = metadata
    return wire
  },
  subscribeToTask: draftAddress,
  createPushConfig: encodePushConfig,
  getPushConfig: encodePushConfigRef,
  listPushConfigs({ tenant, taskId, pageSize, pageToken }) {
    const wire = draftFor(tenant)
    wire.taskId = taskId
    if (pageSize) wire.pageSize = pageSize
    if (pageToken) wire.pageToken = pageToken
    return wire
  },
  deletePushConfig: encodePushConfigRef,
  getExtendedCard: ({ tenant }) => draftFor(tenant),
}

function encodeSend({ tenant, message, configuration, metadata }: SendRequest): JsonObject {
  const wire = draftFor(tenant)
  wire.message = encodeMessage(message)
  if (configuration) wire.configuration = encodeConfiguration(configuration)
  if (metadata) wire.metadata = metadata
  return wire
}

function encodeConfiguration(configuration: SendConfiguration): JsonObject {
  const { acceptedOutputModes, historyLength, returnImmediately, push } = configuration
  const wire: Draft = {}
  if (acceptedOutputModes?.length) wire.acceptedOutputModes = acceptedOutputModes
  if (push) wire.taskPushNotificationConfig = encodePushConfig(push)
  if (historyLength !== undefined) wire.historyLength = historyLength
  if (returnImmediately) wire.returnImmediately = true
  return wire
}

function encodePushConfigRef({ tenant, taskId, id }: PushConfigRef): JsonObject {
  const wire = draftFor(tenant)
  wire.taskId = taskId
  if (id) wire.id = id
  return wire
}

function draftAddress({ tenant, taskId }: TaskAddress): Draft {
  const wire = draftFor(tenant)
  wire.id = taskId
  return wire
}

function draftFor(tenant: string | undefined): Draft {
  return tenant ? { tenant } : {}
}
