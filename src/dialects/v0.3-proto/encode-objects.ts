import type { Artifact, JsonObject, Message, Task, TaskStatus } from '../../protocol/model.ts'
import type { PushConfig } from '../../protocol/service.ts'
import { encodeBareStatus } from '../bare-status.ts'
import type { Draft } from '../draft.ts'
import { carried } from './carry.ts'
import { type ConfigAddress, configName } from './names.ts'
import { encodePart } from './parts.ts'
import { encodeReferences } from './references.ts'
import { AnyState, Role } from './schemas.ts'

/** Empty strings and lists are left out, as ProtoJSON does. */

export function encodeMessage(message: Message): JsonObject {
  const { messageId, role, parts, contextId, taskId, extensions } = message
  const wire: Draft = { role: Role.names[role], content: parts.map(encodePart) }
  if (messageId) wire.messageId = messageId
  if (contextId) wire.contextId = contextId
  if (taskId) wire.taskId = taskId
  if (extensions?.length) wire.extensions = extensions
  const metadata = encodeReferences(message)
  if (metadata) wire.metadata = metadata
  return wire
}

export function encodeArtifact({ artifactId, parts, name, description, extensions, metadata }: Artifact): JsonObject {
  const wire: Draft = { artifactId, parts: parts.map(encodePart) }
  if (name) wire.name = name
  if (description) wire.description = description
  if (extensions?.length) wire.extensions = extensions
  if (metadata) wire.metadata = metadata
  return wire
}

export function encodeStatus(status: TaskStatus): JsonObject {
  const { state, timestamp } = encodeBareStatus(status, carried)
  const wire: Draft = { state: AnyState.names[state] }
  if (timestamp !== undefined) wire.timestamp = timestamp
  if (status.message) wire.message = encodeMessage(status.message)
  return wire
}

export function encodeTask({ id, contextId, status, artifacts, history, metadata }: Task): JsonObject {
  const wire: Draft = { id }
  if (contextId) wire.contextId = contextId
  wire.status = encodeStatus(status)
  if (artifacts.length > 0) wire.artifacts = artifacts.map(encodeArtifact)
  if (history.length > 0) wire.history = history.map(encodeMessage)
  if (metadata) wire.metadata = metadata
  return wire
}

export function encodePushConfig(config: PushConfig): JsonObject {
  const { url, token, authentication } = config
  const { id = config.id, schemes, credentials } = carried(config.carry)
  const wire: Draft = { url }
  if (id) wire.id = id
  if (token) wire.token = token
  if (authentication) {
    const { scheme, credentials } = authentication
    wire.authentication = {
      schemes: Array.isArray(schemes) && schemes[0] === scheme ? schemes : [scheme],
      ...(credentials && { credentials }),
    }
  } else if (credentials !== undefined) {
    wire.authentication = credentials ? { credentials } : {}
  }
  return wire
}

/** Where an id is missing, it is the one that servers of 0.3 give: the task's. */
export function addressOf({ taskId = '', id = taskId }: Partial<ConfigAddress>): ConfigAddress {
  return { taskId, id }
}

export function encodeNamedConfig(config: PushConfig): JsonObject {
  return { name: configName(addressOf(config)), pushNotificationConfig: encodePushConfig(config) }
}
