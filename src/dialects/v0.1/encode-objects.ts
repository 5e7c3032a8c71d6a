import type { StatusEvent } from '../../protocol/events.ts'
import type { Artifact, Json, JsonObject, Message, Task } from '../../protocol/model.ts'
import type { PushConfig } from '../../protocol/service.ts'
import { encodeBareStatus } from '../bare-status.ts'
import type { Draft } from '../draft.ts'
import { isObject } from '../is-object.ts'
import { carried } from './carry.ts'
import { encodePart } from './parts.ts'
import { encodeState } from './states.ts'

export function encodeTask(task: Task, id: string): JsonObject {
  const { contextId, artifacts, history, carry } = task
  const kept = carried(carry)
  const wire: Draft = { id, ...encodeStatus(task) }
  if (!kept.sessionless) wire.sessionId = contextId
  if (artifacts.length > 0 || kept.artifacts) {
    wire.artifacts = artifacts.map((each, position) => encodeArtifact(each, position, carried(each.carry)))
  }
  if (history.length > 0 || kept.history) wire.history = history.map(encodeMessage)
  return wire
}

/** With the metadata of the task or event that has it, which may have to say more of the state than the state itself. */
export function encodeStatus({ status, metadata: around }: Omit<StatusEvent, 'type'>): Draft {
  const { state, timestamp } = encodeBareStatus(status, carried)
  const { state: word, metadata } = encodeState({ state, metadata: around })
  const wire: Draft = { state: word }
  if (status.message !== undefined) wire.message = encodeMessage(status.message)
  if (timestamp !== undefined) wire.timestamp = timestamp
  return metadata === undefined ? { status: wire } : { status: wire, metadata }
}

export function encodeMessage({ role, parts, metadata }: Message): JsonObject {
  const wire: Draft = { role, parts: parts.map(encodePart) }
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

interface Flags {
  readonly append?: Json
  readonly lastChunk?: Json
}

/** One that came over 0.1 has the number that it had there, or none. */
export function encodeArtifact(artifact: Artifact, position: number, { append, lastChunk }: Flags): JsonObject {
  const { name, description, parts, metadata, carry } = artifact
  const { index = position } = carried(carry)
  const wire: Draft = { parts: parts.map(encodePart) }
  if (name !== undefined) wire.name = name
  if (description !== undefined) wire.description = description
  if (index !== null) wire.index = index
  if (append !== undefined) wire.append = append
  if (lastChunk !== undefined) wire.lastChunk = lastChunk
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

export function encodeTaskPushConfig(config: PushConfig, id = config.taskId): JsonObject {
  const wire: Draft = { pushNotificationConfig: encodePushConfig(config) }
  if (id !== undefined) wire.id = id
  return wire
}

export function encodePushConfig(config: PushConfig): JsonObject {
  const { url, token, authentication, carry } = config
  const wire: Draft = { url }
  if (token !== undefined) wire.token = token
  if (authentication !== undefined) {
    const { scheme, credentials } = authentication
    const { authentication: kept } = carried(carry)
    const told = namesFirst(kept, scheme) ? kept : { schemes: [scheme] }
    wire.authentication = credentials === undefined ? told : { ...told, credentials }
  }
  return wire
}

function namesFirst(authentication: Json | undefined, scheme: string): authentication is JsonObject {
  const schemes = isObject(authentication) ? authentication.schemes : undefined
  return Array.isArray(schemes) && schemes[0] === scheme
}
