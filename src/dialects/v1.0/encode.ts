import type { ArtifactEvent, StatusEvent, StreamEvent, TaskRef } from '../../protocol/events.ts'
import type { Artifact, Json, JsonObject, Message, Part, Task, TaskStatus } from '../../protocol/model.ts'
import type { Outcome, PushConfig, TaskPage } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import { unknownMoment } from '../unknown-moment.ts'
import { encodeCard } from './encode-card.ts'
import { Role, State } from './schemas.ts'

/**
 * Builds every object afresh: strict protobuf parsers fail on a member they do not know, and what the model has for
 * itself (`carry`, `generation`) stays inside. Empty strings and lists are left out, as ProtoJSON does.
 */
export type Draft = Record<string, Json>

export const encodeResult = {
  sendMessage: encodeOutcome,
  getTask: encodeTask,
  listTasks: encodePage,
  cancelTask: encodeTask,
  createPushConfig: encodePushConfig,
  getPushConfig: encodePushConfig,
  listPushConfigs({ configs, nextPageToken }) {
    const wire: Draft = {}
    if (configs.length > 0) wire.configs = configs.map(encodePushConfig)
    if (nextPageToken) wire.nextPageToken = nextPageToken
    return wire
  },
  deletePushConfig: () => ({}),
  getExtendedCard: encodeCard,
} satisfies ServerDialect['encodeResult']

export function encodeEvent(event: StreamEvent): readonly JsonObject[] {
  return [encodeStreamResponse(event)]
}

function encodeStreamResponse(event: StreamEvent): JsonObject {
  switch (event.type) {
    case 'task':
    case 'message':
      return encodeOutcome(event)
    case 'status':
      return { statusUpdate: encodeStatusUpdate(event) }
    case 'artifact':
      return { artifactUpdate: encodeArtifactUpdate(event) }
  }
}

function encodeOutcome(outcome: Outcome): JsonObject {
  return outcome.type === 'task' ? { task: encodeTask(outcome.task) } : { message: encodeMessage(outcome.message) }
}

/** Here all four members are always there, and so are asked-for artifacts, even if there are none (A2A 1.0 §3.1.4). */
function encodePage({ tasks, nextPageToken, pageSize, totalSize, withArtifacts }: TaskPage): JsonObject {
  const encodeListed = (task: Task): JsonObject => {
    const wire = draftTask(task)
    if (withArtifacts) wire.artifacts = task.artifacts.map(encodeArtifact)
    return wire
  }
  return { tasks: tasks.map(encodeListed), nextPageToken, pageSize, totalSize }
}

function encodeTask(task: Task): JsonObject {
  const wire = draftTask(task)
  if (task.artifacts.length > 0) wire.artifacts = task.artifacts.map(encodeArtifact)
  return wire
}

function draftTask({ id, contextId, status, history, metadata }: Task): Draft {
  const wire: Draft = { id }
  if (contextId) wire.contextId = contextId
  wire.status = encodeStatus(status)
  if (history.length > 0) wire.history = history.map(encodeMessage)
  if (metadata) wire.metadata = metadata
  return wire
}

function encodeStatusUpdate({ taskId, contextId, status, metadata }: StatusEvent & TaskRef): JsonObject {
  const wire: Draft = { taskId, contextId, status: encodeStatus(status) }
  if (metadata) wire.metadata = metadata
  return wire
}

function encodeArtifactUpdate(event: ArtifactEvent & TaskRef): JsonObject {
  const { taskId, contextId, artifact, append, lastChunk, metadata } = event
  const wire: Draft = { taskId, contextId, artifact: encodeArtifact(artifact) }
  if (append) wire.append = true
  if (lastChunk) wire.lastChunk = true
  if (metadata) wire.metadata = metadata
  return wire
}

function encodeStatus({ state, message, timestamp }: TaskStatus): JsonObject {
  const wire: Draft = { state: State.names[state] }
  if (timestamp !== unknownMoment) wire.timestamp = timestamp
  if (message) wire.message = encodeMessage(message)
  return wire
}

export function encodeMessage(message: Message): JsonObject {
  const { messageId, role, parts, contextId, taskId, referenceTaskIds, extensions, metadata } = message
  const wire: Draft = { messageId, role: Role.names[role], parts: parts.map(encodePart) }
  if (contextId) wire.contextId = contextId
  if (taskId) wire.taskId = taskId
  if (referenceTaskIds?.length) wire.referenceTaskIds = referenceTaskIds
  if (extensions?.length) wire.extensions = extensions
  if (metadata) wire.metadata = metadata
  return wire
}

function encodeArtifact({ artifactId, parts, name, description, extensions, metadata }: Artifact): JsonObject {
  const wire: Draft = { artifactId, parts: parts.map(encodePart) }
  if (name) wire.name = name
  if (description) wire.description = description
  if (extensions?.length) wire.extensions = extensions
  if (metadata) wire.metadata = metadata
  return wire
}

function encodePart(part: Part): JsonObject {
  const wire = draftContent(part)
  if (part.filename) wire.filename = part.filename
  if (part.mediaType) wire.mediaType = part.mediaType
  if (part.metadata) wire.metadata = part.metadata
  return wire
}

/** The member of a oneof is there even if it is empty: it says which one it is. */
function draftContent(part: Part): Draft {
  if ('text' in part) return { text: part.text }
  if ('raw' in part) return { raw: part.raw }
  if ('url' in part) return { url: part.url }
  return { data: part.data }
}

export function encodePushConfig({ tenant, id, taskId, url, token, authentication }: PushConfig): JsonObject {
  const wire: Draft = { url }
  if (tenant) wire.tenant = tenant
  if (id) wire.id = id
  if (taskId) wire.taskId = taskId
  if (token) wire.token = token
  if (authentication) {
    const { scheme, credentials } = authentication
    wire.authentication = credentials ? { scheme, credentials } : { scheme }
  }
  return wire
}
