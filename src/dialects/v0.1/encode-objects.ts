import type { ArtifactEvent, StatusEvent } from '../../protocol/events.ts'
import type { Artifact, Json, JsonObject, Message, Task } from '../../protocol/model.ts'
import type { PushConfig } from '../../protocol/service.ts'
import { type ArtifactCarry, carriedBy, type PushCarry, type TaskCarry } from './carry.ts'
import { beside } from './marks.ts'
import { encodePart } from './parts.ts'
import { encodeState, unknownMoment } from './states.ts'

export type Draft = Record<string, Json>

export function encodeTask(task: Task, id: string): JsonObject {
  const { contextId, artifacts, history } = task
  const kept = carriedBy<TaskCarry>(task) ?? {}
  const wire: Draft = { id, ...encodeStatus(task) }
  if (!kept.sessionless) wire.sessionId = contextId
  if (artifacts.length > 0 || kept.artifacts) {
    wire.artifacts = artifacts.map((each, position) => encodeArtifact(each, position, carriedBy<ArtifactCarry>(each)))
  }
  if (history.length > 0 || kept.history) wire.history = history.map(encodeMessage)
  return wire
}

/** With the metadata of the task or event that has it, which may have to say more of the state than the state itself. */
export function encodeStatus({ status, metadata: around }: Omit<StatusEvent, 'type'>): Draft {
  const { message, timestamp } = status
  const { state, metadata } = encodeState({ state: status.state, metadata: around })
  const wire: Draft = { state }
  if (message !== undefined) wire.message = encodeMessage(message)
  if (timestamp !== unknownMoment) wire.timestamp = timestamp
  return { status: wire, ...beside(metadata) }
}

export function encodeMessage({ role, parts, metadata }: Message): JsonObject {
  return { role, parts: parts.map(encodePart), ...beside(metadata) }
}

/** One that came over 0.1 has the number that it had there. */
export function encodeArtifact(
  artifact: Artifact,
  position: number,
  { append, lastChunk }: Pick<ArtifactEvent, 'append' | 'lastChunk'> = {},
): JsonObject {
  const { name, description, parts, metadata } = artifact
  const { index } = carriedBy<ArtifactCarry>(artifact) ?? { index: position }
  const wire: Draft = { parts: parts.map(encodePart), ...beside(metadata) }
  if (name !== undefined) wire.name = name
  if (description !== undefined) wire.description = description
  if (index !== undefined) wire.index = index
  if (append !== undefined) wire.append = append
  if (lastChunk !== undefined) wire.lastChunk = lastChunk
  return wire
}

export function encodeTaskPushConfig(config: PushConfig, id = config.taskId): JsonObject {
  const wire: Draft = { pushNotificationConfig: encodePushConfig(config) }
  if (id !== undefined) wire.id = id
  return wire
}

export function encodePushConfig(config: PushConfig): JsonObject {
  const { url, token, authentication } = config
  const wire: Draft = { url }
  if (token !== undefined) wire.token = token
  if (authentication !== undefined) {
    const { scheme, credentials } = authentication
    const kept = carriedBy<PushCarry>(config)?.authentication
    const told = kept?.schemes[0] === scheme ? kept : { schemes: [scheme] }
    wire.authentication = credentials === undefined ? told : { ...told, credentials }
  }
  return wire
}
