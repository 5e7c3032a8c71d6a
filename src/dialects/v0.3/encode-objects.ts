import type { Artifact, JsonObject, Message, Task, TaskStatus } from '../../protocol/model.ts'
import type { PushConfig } from '../../protocol/service.ts'
import { encodeBareStatus } from '../bare-status.ts'
import type { Draft } from '../draft.ts'
import { carried } from './carry.ts'
import { encodePart } from './parts.ts'

/** `kind` comes first: some readers stop at the first member that tells. */

export function encodeMessage(message: Message): JsonObject {
  const { messageId, role, parts, contextId, taskId, referenceTaskIds, extensions, metadata } = message
  const wire: Draft = { kind: 'message', messageId, role, parts: parts.map(encodePart) }
  if (contextId !== undefined) wire.contextId = contextId
  if (taskId !== undefined) wire.taskId = taskId
  if (referenceTaskIds !== undefined) wire.referenceTaskIds = referenceTaskIds
  if (extensions !== undefined) wire.extensions = extensions
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

export function encodeArtifact({ artifactId, parts, name, description, extensions, metadata }: Artifact): JsonObject {
  const wire: Draft = { artifactId, parts: parts.map(encodePart) }
  if (name !== undefined) wire.name = name
  if (description !== undefined) wire.description = description
  if (extensions !== undefined) wire.extensions = extensions
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

export function encodeStatus(status: TaskStatus): JsonObject {
  const { state, timestamp } = encodeBareStatus(status, carried)
  const wire: Draft = { state }
  if (status.message !== undefined) wire.message = encodeMessage(status.message)
  if (timestamp !== undefined) wire.timestamp = timestamp
  return wire
}

export function encodeTask({ id, contextId, status, artifacts, history, metadata, carry }: Task): JsonObject {
  const kept = carried(carry)
  const wire: Draft = { kind: 'task', id, contextId, status: encodeStatus(status) }
  if (artifacts.length > 0 || kept.artifacts) wire.artifacts = artifacts.map(encodeArtifact)
  if (history.length > 0 || kept.history) wire.history = history.map(encodeMessage)
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

export function encodePushConfig({ id, url, token, authentication, carry }: PushConfig): JsonObject {
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

export function encodeTaskPushConfig(config: PushConfig): JsonObject {
  const wire: Draft = { pushNotificationConfig: encodePushConfig(config) }
  if (config.taskId !== undefined) wire.taskId = config.taskId
  return wire
}
