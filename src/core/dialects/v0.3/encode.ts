import { defined, type JsonObject } from '../../base/json.ts'
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
import { type Draft, rejectRevision } from '../codec.ts'
import type { ClientDialect, ServerDialect } from '../dialect.ts'
import { encodeCard } from './card.ts'
import { encodePart, readCarry } from './parts.ts'

// `kind` comes first: some readers stop at the first member that identifies the object.

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
  // Always explicit: agents disagree on the default.
  // Some agents of this version fail without the list.
  sendMessage: (request) => encodeSend(request, { acceptedOutputModes: [], blocking: true }),
  streamMessage: (request) => encodeSend(request, { acceptedOutputModes: [] }),
  getTask: ({ historyLength, ...address }) => defined({ ...taskFields(address), historyLength }),
  listTasks({ state, statusSince, contextId, pageSize, pageToken, historyLength, includeArtifacts, metadata }) {
    const lastUpdatedAfter = statusSince === undefined ? undefined : Date.parse(statusSince)
    const page = { pageSize, pageToken, historyLength, includeArtifacts }
    return defined({ contextId, status: state, lastUpdatedAfter, ...page, metadata })
  },
  cancelTask: (address) => defined(taskFields(address)),
  subscribeToTask: (address) => defined(taskFields(address)),
  createPushConfig(config) {
    const { id, ...unnamed } = config
    return encodeTaskPushConfig(readCarry(config.carry).isUnnamed && id === config.taskId ? unnamed : config)
  },
  getPushConfig: encodePushConfigRef,
  listPushConfigs: (address) => defined(taskFields(address)),
  deletePushConfig: encodePushConfigRef,
  getExtendedCard: () => ({}),
}

export function encodeTask({ id, contextId, status, artifacts, history, metadata, carry }: Task): JsonObject {
  const extras = readCarry(carry)
  const wire: Draft = { kind: 'task', id, contextId, status: encodeStatus(status) }
  if (artifacts.length > 0 || extras.artifacts) wire.artifacts = artifacts.map(encodeArtifact)
  if (history.length > 0 || extras.history) wire.history = history.map(encodeMessage)
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

/** `defaults` are the members of the configuration that the request leaves open. */
export function encodeSend(request: SendRequest, defaults: JsonObject): JsonObject {
  const { message, configuration, metadata, carry } = request
  rejectRevision(configuration)
  const wire = { ...(!readCarry(carry).asSent && defaults), ...encodeConfiguration(configuration) }
  const hasConfiguration = configuration !== undefined || Object.keys(wire).length > 0
  return defined({
    message: encodeMessage(message),
    configuration: hasConfiguration ? wire : undefined,
    metadata,
  })
}

function encodeStatus(status: TaskStatus): JsonObject {
  const { state, timestamp } = status
  const wire: Draft = { state }
  if (status.message !== undefined) wire.message = encodeMessage(status.message)
  if (timestamp !== undefined) wire.timestamp = timestamp
  return wire
}

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
  const { schemes, authentication: unusable } = readCarry(carry)
  if (authentication !== undefined) {
    const { scheme, credentials } = authentication
    wire.authentication = defined({
      schemes: Array.isArray(schemes) && schemes[0] === scheme ? schemes : [scheme],
      credentials,
    })
  } else if (unusable !== undefined) {
    wire.authentication = unusable
  }
  return wire
}

function taskFields({ taskId, metadata }: TaskAddress) {
  return { id: taskId, metadata }
}

function encodePushConfigRef({ id, ...address }: PushConfigRef): JsonObject {
  return defined({ ...taskFields(address), pushNotificationConfigId: id })
}

function encodeConfiguration(configuration: SendConfiguration = {}): JsonObject {
  const { acceptedOutputModes, historyLength, returnImmediately, push } = configuration
  return defined({
    acceptedOutputModes,
    historyLength,
    blocking: returnImmediately === undefined ? undefined : !returnImmediately,
    pushNotificationConfig: push && encodePushConfig(push),
  })
}
