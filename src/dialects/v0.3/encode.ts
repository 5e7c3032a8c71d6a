import type { JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Message, Task, TaskStatus } from '../../protocol/model.ts'
import type {
  Outcome,
  PushConfig,
  PushConfigRef,
  SendConfiguration,
  SendRequest,
  TaskAddress,
} from '../../protocol/service.ts'
import { type Draft, encodeBareStatus, present } from '../codec.ts'
import type { ClientDialect, ServerDialect } from '../dialect.ts'
import { encodeCard } from './card.ts'
import { carried, encodePart } from './parts.ts'

export const encodeResult = {
  sendMessage: encodeOutcome,
  getTask: encodeTask,
  listTasks: ({ tasks, nextPageToken, pageSize, totalSize }) => ({
    tasks: tasks.map(encodeTask),
    nextPageToken,
    pageSize,
    totalSize,
  }),
  cancelTask: encodeTask,
  createPushConfig: encodeTaskPushConfig,
  getPushConfig: encodeTaskPushConfig,
  listPushConfigs: ({ configs }) => configs.map(encodeTaskPushConfig),
  deletePushConfig: () => null,
  getExtendedCard: encodeCard,
} satisfies ServerDialect['encodeResult']

export function encodeEvent(event: StreamEvent): readonly JsonObject[] {
  switch (event.type) {
    case 'task':
    case 'message':
      return [encodeOutcome(event)]
    case 'status': {
      const { taskId, contextId, status, isLast = false, metadata } = event
      const wire: Draft = { kind: 'status-update', taskId, contextId, status: encodeStatus(status), final: isLast }
      if (metadata !== undefined) wire.metadata = metadata
      return [wire]
    }
    case 'artifact': {
      const { taskId, contextId, artifact, append, lastChunk, metadata } = event
      const wire: Draft = { kind: 'artifact-update', taskId, contextId, artifact: encodeArtifact(artifact) }
      if (append !== undefined) wire.append = append
      if (lastChunk !== undefined) wire.lastChunk = lastChunk
      if (metadata !== undefined) wire.metadata = metadata
      return [wire]
    }
  }
}

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

export function encodeTask({ id, contextId, status, artifacts, history, metadata, carry }: Task): JsonObject {
  const kept = carried(carry)
  const wire: Draft = { kind: 'task', id, contextId, status: encodeStatus(status) }
  if (artifacts.length > 0 || kept.artifacts) wire.artifacts = artifacts.map(encodeArtifact)
  if (history.length > 0 || kept.history) wire.history = history.map(encodeMessage)
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

/** `unsaid` is what the configuration says unless the request does. */
export function encodeSend({ message, configuration, metadata, carry }: SendRequest, unsaid: JsonObject): JsonObject {
  const told = { ...(!carried(carry).asSent && unsaid), ...encodeConfiguration(configuration) }
  const isTold = configuration !== undefined || Object.keys(told).length > 0
  return present({ message: encodeMessage(message), configuration: isTold ? told : undefined, metadata })
}

function encodeStatus(status: TaskStatus): JsonObject {
  const { state, timestamp } = encodeBareStatus(status, carried)
  const wire: Draft = { state }
  if (status.message !== undefined) wire.message = encodeMessage(status.message)
  if (timestamp !== undefined) wire.timestamp = timestamp
  return wire
}

/** `kind` comes first: some readers stop at the first member that tells. */

function encodeMessage(message: Message): JsonObject {
  const { messageId, role, parts, contextId, taskId, referenceTaskIds, extensions, metadata } = message
  const wire: Draft = { kind: 'message', messageId, role, parts: parts.map(encodePart) }
  if (contextId !== undefined) wire.contextId = contextId
  if (taskId !== undefined) wire.taskId = taskId
  if (referenceTaskIds !== undefined) wire.referenceTaskIds = referenceTaskIds
  if (extensions !== undefined) wire.extensions = extensions
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

function encodeArtifact({ artifactId, parts, name, description, extensions, metadata }: Artifact): JsonObject {
  const wire: Draft = { artifactId, parts: parts.map(encodePart) }
  if (name !== undefined) wire.name = name
  if (description !== undefined) wire.description = description
  if (extensions !== undefined) wire.extensions = extensions
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

function encodeOutcome(outcome: Outcome): JsonObject {
  return outcome.type === 'task' ? encodeTask(outcome.task) : encodeMessage(outcome.message)
}

function encodeTaskPushConfig(config: PushConfig): JsonObject {
  const wire: Draft = { pushNotificationConfig: encodePushConfig(config) }
  if (config.taskId !== undefined) wire.taskId = config.taskId
  return wire
}

function encodePushConfig({ id, url, token, authentication, carry }: PushConfig): JsonObject {
  const wire: Draft = { url }
  if (id !== undefined) wire.id = id
  if (token !== undefined) wire.token = token
  const { schemes, authentication: unusable } = carried(carry)
  if (authentication !== undefined) {
    const { scheme, credentials } = authentication
    wire.authentication = {
      schemes: Array.isArray(schemes) && schemes[0] === scheme ? schemes : [scheme],
      ...(credentials !== undefined && { credentials }),
    }
  } else if (unusable !== undefined) {
    wire.authentication = unusable
  }
  return wire
}

function addressOf({ taskId, metadata }: TaskAddress) {
  return { id: taskId, metadata }
}

function encodePushConfigRef({ id, ...address }: PushConfigRef): JsonObject {
  return present({ ...addressOf(address), pushNotificationConfigId: id })
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
