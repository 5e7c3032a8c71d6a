import { defined, isObject, type JsonObject } from '../../base/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { StatusEvent, StreamEvent, TaskRef } from '../../protocol/events.ts'
import type { Artifact, Message, Task } from '../../protocol/model.ts'
import type { PushConfig, RequestOf, StreamOperation } from '../../protocol/service.ts'
import type { Infer } from '../../schema/schema.ts'
import { type Draft, decodeState, readResult, unknownGeneration } from '../codec.ts'
import type { ClientDialect } from '../dialect.ts'
import { missingOperations } from './methods.ts'
import { decodePart, toCarry } from './parts.ts'
import * as wire from './schemas.ts'

const hashSeeds = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f]

export const decodeResult: ClientDialect['decodeResult'] = {
  ...missingOperations,
  sendMessage(result, { message }) {
    return { type: 'task', task: decodeTask(readResult(wire.Task, result), message.contextId) }
  },
  getTask: (result) => decodeTask(readResult(wire.Task, result)),
  cancelTask: (result) => decodeTask(readResult(wire.Task, result)),
  createPushConfig: decodeTaskPushConfig,
  getPushConfig(result) {
    if (isObject(result) && isMissing(result.pushNotificationConfig)) {
      throw new A2AError('task-not-found', 'The task has no push config.')
    }
    return decodeTaskPushConfig(result)
  },
}

/** Events do not have the session. It is that of the request, or else the task is its own session. */
export function decodeEvent(event: unknown, request: RequestOf<StreamOperation>): StreamEvent {
  const session = 'message' in request ? request.message.contextId : undefined
  const refOf = (id: string) => ({ taskId: id, contextId: session ?? id, generation: unknownGeneration })
  if (isObject(event) && isObject(event.artifact)) {
    const { id, artifact, metadata } = readResult(wire.ArtifactUpdate, event)
    const { append, lastChunk, ...rest } = artifact
    return { type: 'artifact', ...refOf(id), artifact: decodeArtifact(rest), append, lastChunk, metadata }
  }
  const { id, status, final, metadata } = readResult(wire.StatusUpdate, event)
  return {
    type: 'status',
    ...refOf(id),
    ...decodeStatus(status, metadata, createMessageDecoder(refOf(id))),
    isLast: final,
  }
}

function decodeTaskPushConfig(result: unknown): PushConfig {
  const { id, pushNotificationConfig } = readResult(wire.TaskPushConfig, result)
  return { taskId: id, ...decodePushConfig(pushNotificationConfig) }
}

/** The model has one authentication scheme: the first. */
export function decodePushConfig({ authentication, ...config }: wire.PushConfig): PushConfig {
  if (authentication === undefined) return config
  const { credentials, ...others } = authentication
  const [scheme = ''] = authentication.schemes
  return {
    ...config,
    authentication: defined({ scheme, credentials: typeof credentials === 'string' ? credentials : undefined }),
    ...toCarry({ authentication: others }),
  }
}

function isMissing(config: unknown): boolean {
  return config === null || (isObject(config) && Object.keys(config).length === 0)
}

/** A task without a session has that of the request, or else is its own session. */
function decodeTask(task: Infer<typeof wire.Task>, requestSession?: string): Task {
  const { id, sessionId, artifacts, history } = task
  const contextId = sessionId ?? requestSession ?? id
  const decodeMessage = createMessageDecoder({ taskId: id, contextId })
  const extras: Draft = {}
  if (sessionId === undefined) extras.sessionless = true
  if (artifacts?.length === 0) extras.artifacts = []
  if (history?.length === 0) extras.history = []
  return {
    id,
    contextId,
    history: history?.map(decodeMessage) ?? [],
    ...decodeStatus(task.status, task.metadata, decodeMessage),
    artifacts: artifacts?.map(decodeArtifact) ?? [],
    generation: unknownGeneration,
    ...toCarry(extras),
  }
}

/** Decodes the messages of one task, oldest first. */
function createMessageDecoder({ taskId, contextId }: Omit<TaskRef, 'generation'>): MessageDecoder {
  const idOf = createMessageIds(taskId)
  return (message) => {
    const { role, parts, metadata } = message
    return { messageId: idOf(message), role, parts: parts.map(decodePart), contextId, taskId, metadata }
  }
}

type MessageDecoder = (message: wire.Message) => Message

/**
 * Derives message ids, which 0.1 does not have, from the task, the content and, for equal messages, their order. So a
 * message has the same id whenever it is read.
 */
function createMessageIds(taskId: string): (message: wire.Message) => string {
  const counts = new Map<string, number>()
  return (message) => {
    // The schema builds members in a fixed order, so equal messages have equal JSON.
    const json = JSON.stringify(message)
    const count = counts.get(json) ?? 0
    counts.set(json, count + 1)
    return uuidOf(JSON.stringify([taskId, count, json]))
  }
}

/** A UUID of version 8 (RFC 9562 §5.8) from a non-cryptographic hash. */
function uuidOf(text: string): string {
  const hex = hashSeeds.map((seed) => hashOf(text, seed).toString(16).padStart(8, '0')).join('')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}

function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), seed)
    hash ^= hash >>> 15
  }
  return hash >>> 0
}

/** Decodes a status together with the metadata of its task or event, which holds states that 0.1 does not have. */
function decodeStatus(
  { state: wireState, message, timestamp }: wire.TaskStatus,
  outerMetadata: JsonObject | undefined,
  decodeMessage: MessageDecoder,
): Omit<StatusEvent, 'type'> {
  const { state, metadata } = decodeState(wire.substitutes, { state: wireState, metadata: outerMetadata })
  const status = defined({ state, timestamp })
  return { status: message === undefined ? status : { ...status, message: decodeMessage(message) }, metadata }
}

/** An artifact without an index has that of its position. In a stream, it is the first. */
function decodeArtifact(artifact: wire.Artifact, position = 0): Artifact {
  const { index, append, lastChunk, parts, ...rest } = artifact
  const extras: Draft = { index: index ?? null }
  if (append !== undefined) extras.append = append
  if (lastChunk !== undefined) extras.lastChunk = lastChunk
  return { ...rest, artifactId: `artifact-${index ?? position}`, parts: parts.map(decodePart), ...toCarry(extras) }
}
