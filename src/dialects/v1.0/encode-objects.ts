import type { Artifact, JsonObject, Task, TaskStatus } from '../../protocol/model.ts'
import { encodeBareStatus } from '../bare-status.ts'
import type { Draft } from '../draft.ts'
import { carried } from './carry.ts'
import { encodeMessage } from './encode-message.ts'
import { encodePart } from './parts.ts'
import { stateNames } from './words.ts'

/** Strict protobuf parsers fail on a member they do not know. Empty strings and lists are left out, as ProtoJSON does. */

export function encodeArtifact({ artifactId, parts, name, description, extensions, metadata }: Artifact): JsonObject {
  const wire: Draft = { artifactId, parts: parts.map(encodePart) }
  if (name) wire.name = name
  if (description) wire.description = description
  if (extensions?.length) wire.extensions = extensions
  if (metadata) wire.metadata = metadata
  return wire
}

export function encodeStatus(status: TaskStatus): JsonObject {
  const { state, message } = status
  const { timestamp } = encodeBareStatus(status, carried)
  const wire: Draft = { state: stateNames[state] }
  if (timestamp !== undefined) wire.timestamp = timestamp
  if (message) wire.message = encodeMessage(message)
  return wire
}

export function encodeTask(task: Task): JsonObject {
  const wire = draftTask(task)
  if (task.artifacts.length > 0) wire.artifacts = task.artifacts.map(encodeArtifact)
  return wire
}

/** Asked-for artifacts are there in a list of tasks, even if there are none (A2A 1.0 §3.1.4). */
export function encodeListedTask(task: Task, withArtifacts: boolean): JsonObject {
  const wire = draftTask(task)
  if (withArtifacts) wire.artifacts = task.artifacts.map(encodeArtifact)
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
