import type { Json, JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { StatusEvent, StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Message, Task } from '../../protocol/model.ts'
import type { PushConfig, RequestOf, SendRequest, StreamOperation, TaskAddress } from '../../protocol/service.ts'
import type { Infer } from '../../schema/schema.ts'
import { type Draft, decodeBareStatus, generation } from '../codec.ts'
import type { ClientDialect, ServerDialect } from '../dialect.ts'
import { type Clean, type LenientRead, lenientReader, readParams, readResult } from '../read.ts'
import { missingOperations } from './methods.ts'
import { decodePart, toCarry } from './parts.ts'
import * as wire from './schemas.ts'
import { decodeState, type Message as MessageMessageIds, TaskPushConfig } from './schemas.ts'

const types: readonly (keyof JsonObject)[] = ['text', 'file', 'data']

/** Milliseconds that a send may take: 0.1 promises the task as it is then, at rest or not. */
const patience = 30_000

const seeds = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f]

/** What callers of A2A 0.1 send although the schema does not allow it, put right where we can. */

/** Whoever calls speaks as the user, also if it is an agent. */
const cleanSendParams: Clean = (params) => {
  if (!isObject(params) || !isObject(params.message)) return params
  const { role, parts, ...message } = params.message
  const clean: Record<string, Json> = { ...message, role: role === 'agent' ? 'user' : (role ?? null) }
  if (parts !== undefined) clean.parts = Array.isArray(parts) ? parts.map(cleanPart) : parts
  return { ...params, message: clean }
}

/** Later versions call the id of a task so, nearly everywhere. */
const cleanTaskParams: Clean = (params) =>
  isObject(params) && params.id === undefined && params.taskId !== undefined ? { ...params, id: params.taskId } : params

export const decodeRequest = requestDecoder(lenientReader(readParams))

/** Takes nothing that is not in the schema. */
export const decodeRequestStrictly = requestDecoder(readParams)

export const decodeResult: ClientDialect['decodeResult'] = {
  ...missingOperations,
  sendMessage(result, { message }) {
    return { type: 'task', task: decodeTask(readResult(wire.Task, result), message.contextId) }
  },
  getTask: (result) => decodeTask(readResult(wire.Task, result)),
  cancelTask: (result) => decodeTask(readResult(wire.Task, result)),
  createPushConfig: decodeTaskPushConfig,
  getPushConfig(result) {
    if (isObject(result) && isNone(result.pushNotificationConfig)) {
      throw new A2AError('task-not-found', 'The task has no push config.')
    }
    return decodeTaskPushConfig(result)
  },
}

/** No event tells its session. */
export function decodeEvent(event: unknown, request: RequestOf<StreamOperation>): StreamEvent {
  const asked = 'message' in request ? request.message.contextId : undefined
  const refOf = (id: string) => ({ taskId: id, contextId: asked ?? id, generation })
  if (isObject(event) && isObject(event.artifact)) {
    const { id, artifact, metadata } = readResult(wire.ArtifactUpdate, event)
    const { append, lastChunk, ...whole } = artifact
    return {
      type: 'artifact',
      ...refOf(id),
      artifact: decodeArtifact(whole),
      append,
      lastChunk,
      metadata,
    }
  }
  const { id, status, final, metadata } = readResult(wire.StatusUpdate, event)
  return {
    type: 'status',
    ...refOf(id),
    ...decodeStatus(status, metadata, messageDecoder(refOf(id))),
    isLast: final,
  }
}

function decodeTaskPushConfig(result: unknown): PushConfig {
  const { id, pushNotificationConfig } = readResult(wire.TaskPushConfig, result)
  return { taskId: id, ...decodePushConfig(pushNotificationConfig) }
}

/** The model has one scheme of authentication: the first. */
function decodePushConfig({ authentication, ...config }: wire.PushConfig): PushConfig {
  if (authentication === undefined) return config
  const { credentials, ...others } = authentication
  const [scheme = ''] = authentication.schemes
  return {
    ...config,
    authentication: { scheme, ...(typeof credentials === 'string' && { credentials }) },
    ...toCarry({ authentication: others }),
  }
}

function isNone(config: unknown): boolean {
  return config === null || (isObject(config) && Object.keys(config).length === 0)
}

function requestDecoder(read: LenientRead): ServerDialect['decodeRequest'] {
  const decodeSend = (params: unknown, blockFor?: number): SendRequest => {
    const request = read(wire.SendParams, params, cleanSendParams)
    const { sessionId, message, pushNotification, historyLength = 0, acceptedOutputModes } = request
    return {
      alias: request.id,
      message: {
        // 0.1 cannot tell a message that is sent twice from two that say the same: each is a new one.
        messageId: crypto.randomUUID(),
        role: message.role,
        parts: message.parts.map(decodePart),
        contextId: sessionId,
        metadata: message.metadata,
      },
      configuration: {
        historyLength,
        acceptedOutputModes,
        push: pushNotification && decodePushConfig(pushNotification),
        blockFor,
      },
      metadata: request.metadata,
    }
  }
  const readTask = (params: unknown) => aliased(read(wire.TaskParams, params, cleanTaskParams))
  const readQuery = (params: unknown) => read(wire.TaskQueryParams, params, cleanTaskParams)
  return {
    ...missingOperations,
    sendMessage: (params) => decodeSend(params, patience),
    // Its state for credentials is the one for input, at which streams end.
    streamMessage: (params) => ({ ...decodeSend(params), endOnAuth: true }),
    getTask(params) {
      const { historyLength = 0, ...address } = readQuery(params)
      return { ...aliased(address), historyLength }
    },
    cancelTask: readTask,
    subscribeToTask(params) {
      const { historyLength, ...address } = readQuery(params)
      const carry = historyLength === undefined ? {} : toCarry({ historyLength })
      return { ...aliased(address), includeEnded: true, endOnAuth: true, ...carry }
    },
    createPushConfig(params) {
      const request = readParams(TaskPushConfig, params)
      return { ...aliased(request), ...decodePushConfig(request.pushNotificationConfig) }
    },
    getPushConfig: readTask,
  }
}

/** Later versions tell by `kind` what a part is, or by the one member that it has. */
function cleanPart(part: Json): Json {
  if (!isObject(part) || part.type !== undefined) return part
  const type = part.kind ?? types.find((name) => part[name] !== undefined)
  return type === undefined ? part : { ...part, type }
}

/** The caller chose the id. */
function aliased({ id, metadata }: Infer<typeof wire.TaskParams>): TaskAddress {
  return metadata === undefined ? { taskId: id, isAlias: true } : { taskId: id, isAlias: true, metadata }
}

/** A task that tells no session is of the one that was asked for, and if none was, of one that is its own. */
function decodeTask(task: Infer<typeof wire.Task>, askedSession?: string): Task {
  const { id, sessionId, artifacts, history } = task
  const contextId = sessionId ?? askedSession ?? id
  const decodeMessage = messageDecoder({ taskId: id, contextId })
  const kept: Draft = {}
  if (sessionId === undefined) kept.sessionless = true
  if (artifacts?.length === 0) kept.artifacts = []
  if (history?.length === 0) kept.history = []
  return {
    id,
    contextId,
    history: history?.map(decodeMessage) ?? [],
    ...decodeStatus(task.status, task.metadata, decodeMessage),
    artifacts: artifacts?.map(decodeArtifact) ?? [],
    generation,
    ...toCarry(kept),
  }
}

/** For the messages of one task, oldest first. */
function messageDecoder(of: { readonly taskId: string; readonly contextId: string }): MessageDecoder {
  const { taskId, contextId } = of
  const idOf = messageIds(taskId)
  return (message) => {
    const { role, parts, metadata } = message
    return { messageId: idOf(message), role, parts: parts.map(decodePart), contextId, taskId, metadata }
  }
}

type MessageDecoder = (message: wire.Message) => Message

/**
 * Messages of 0.1 have no ids, and must get the same ones whenever they are read: by their task, by what they say,
 * and, of several that say the same, by their order.
 */
function messageIds(taskId: string): (message: MessageMessageIds) => string {
  const told = new Map<string, number>()
  return (message) => {
    // Read objects are built in one order, so equal messages have equal texts.
    const text = JSON.stringify(message)
    const before = told.get(text) ?? 0
    told.set(text, before + 1)
    return uuidOf(JSON.stringify([taskId, before, text]))
  }
}

/** A UUID of version 8 (RFC 9562 §5.8): its bits are a hash of ours, good to tell messages apart, not to keep secrets. */
function uuidOf(text: string): string {
  const hex = seeds.map((seed) => hashOf(text, seed).toString(16).padStart(8, '0')).join('')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
}

function hashOf(text: string, seed: number): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), seed)
    hash ^= hash >>> 15
  }
  return hash >>> 0
}

/** With the metadata of the task or event that has it, which may say more of the state than the state itself. */
function decodeStatus(
  { state: word, message, timestamp }: wire.TaskStatus,
  around: JsonObject | undefined,
  decodeMessage: MessageDecoder,
): Omit<StatusEvent, 'type'> {
  const { state, metadata } = decodeState({ state: word, metadata: around })
  const status = decodeBareStatus({ state, timestamp }, toCarry)
  return { status: message === undefined ? status : { ...status, message: decodeMessage(message) }, metadata }
}

/** Without a number it is the one at its position, and in a stream the first. */
function decodeArtifact(artifact: wire.Artifact, position = 0): Artifact {
  const { index, append, lastChunk, parts, ...rest } = artifact
  const kept: Draft = { index: index ?? null }
  if (append !== undefined) kept.append = append
  if (lastChunk !== undefined) kept.lastChunk = lastChunk
  return { ...rest, artifactId: `artifact-${index ?? position}`, parts: parts.map(decodePart), ...toCarry(kept) }
}
