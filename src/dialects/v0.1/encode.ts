import type { Json, JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { ArtifactEvent, StatusEvent, StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Message, Task } from '../../protocol/model.ts'
import type {
  Outcome,
  PushConfig,
  RequestOf,
  SendRequest,
  StreamOperation,
  TaskAddress,
} from '../../protocol/service.ts'
import { type Draft, encodeBareStatus, present } from '../codec.ts'
import type { ClientDialect, PushFormat, ServerDialect } from '../dialect.ts'
import { missing } from './methods.ts'
import { carried, encodePart } from './parts.ts'
import { encodeState } from './schemas.ts'

/** The numbers of the artifacts in each stream that is being told. */
const streams = new WeakMap<object, Map<string, number>>()

/** Callers know a task by the id that they chose: everything is told under the id in the request. */
export const encodeResult: ServerDialect['encodeResult'] = {
  ...missing,
  sendMessage: encodeOutcome,
  getTask: (task, { taskId }) => encodeTask(task, taskId),
  cancelTask: (task, { taskId }) => encodeTask(task, taskId),
  createPushConfig: (config, { taskId }) => encodeTaskPushConfig(config, taskId),
  getPushConfig: (config, { taskId }) => encodeTaskPushConfig(config, taskId),
}

export const encodeRequest: ClientDialect['encodeRequest'] = {
  ...missing,
  sendMessage: encodeSend,
  streamMessage: encodeSend,
  getTask: ({ historyLength, ...address }) =>
    present({ ...addressOf(address), historyLength: historyLength || undefined }),
  cancelTask: (address) => present(addressOf(address)),
  subscribeToTask(address) {
    const { historyLength } = carried(address.carry)
    return present({ ...addressOf(address), historyLength: historyLength || undefined })
  },
  createPushConfig: (config) => encodeTaskPushConfig(config),
  getPushConfig: (address) => present(addressOf(address)),
}

/** 0.1 leaves the form to the server, and names what should be in it: the task's id and its status. */
export const pushFormat: PushFormat = {
  contentType: 'application/json',
  kinds: ['status', 'rest'],
  defaultKinds: ['rest'],
  sendsTask: false,
  replacesUnnamed: true,
  encode(event, taskId) {
    const [wire] = encodeEvent(event, { taskId })
    return { eventType: 'taskUpdate', taskId, ...wire }
  },
}

/** A stream of 0.1 tells states and artifacts, never a task or a message. */
export function encodeEvent(event: StreamEvent, request: RequestOf<StreamOperation>): readonly JsonObject[] {
  const asked = 'message' in request ? request.alias : request.taskId
  switch (event.type) {
    case 'task': {
      const { isLast } = event
      const { id: ownId, status, metadata, artifacts } = event.task
      const id = asked ?? ownId
      const statusUpdate = encodeStatusUpdate(id, { status, metadata, isLast })
      const artifactUpdates = artifacts.map((artifact) => encodeArtifactUpdate(id, { artifact }, request))
      // Nobody reads on behind the last status.
      return isLast ? [...artifactUpdates, statusUpdate] : [statusUpdate, ...artifactUpdates]
    }
    case 'message': {
      const { message } = event
      return [{ id: asked ?? idOfAnswer(message), status: encodeAnswer(message), final: true }]
    }
    case 'status':
      return [encodeStatusUpdate(asked ?? event.taskId, event)]
    case 'artifact':
      return [encodeArtifactUpdate(asked ?? event.taskId, event, request)]
  }
}

/**
 * In 0.1 an artifact is known by its number: how many others came before it. Events are encoded one by one, and what
 * all those of a stream have in common is the request that opened it.
 */
export function indexIn(stream: object, artifactId: string): number {
  const numbers = streams.get(stream) ?? new Map<string, number>()
  streams.set(stream, numbers)
  const index = numbers.get(artifactId) ?? numbers.size
  numbers.set(artifactId, index)
  return index
}

function encodeOutcome(outcome: Outcome, { alias, message: sent }: SendRequest): JsonObject {
  if (outcome.type === 'task') return encodeTask(outcome.task, alias ?? outcome.task.id)
  const { message } = outcome
  const { contextId = sent.contextId, parts } = message
  const wire: Draft = {
    id: alias ?? idOfAnswer(message),
    status: encodeAnswer(message),
    artifacts: [{ parts: parts.map(encodePart), index: 0 }],
  }
  if (contextId !== undefined) wire.sessionId = contextId
  return wire
}

function encodeTask(task: Task, id: string): JsonObject {
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
function encodeStatus({ status, metadata: around }: Omit<StatusEvent, 'type'>): Draft {
  const { state, timestamp } = encodeBareStatus(status, carried)
  const { state: word, metadata } = encodeState({ state, metadata: around })
  const wire: Draft = { state: word }
  if (status.message !== undefined) wire.message = encodeMessage(status.message)
  if (timestamp !== undefined) wire.timestamp = timestamp
  return metadata === undefined ? { status: wire } : { status: wire, metadata }
}

function encodeMessage({ role, parts, metadata }: Message): JsonObject {
  const wire: Draft = { role, parts: parts.map(encodePart) }
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

/** One that came over 0.1 has the number that it had there, or none. */
function encodeArtifact(artifact: Artifact, position: number, { append, lastChunk }: Flags): JsonObject {
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

interface Flags {
  readonly append?: Json
  readonly lastChunk?: Json
}

function idOfAnswer({ taskId, messageId }: Message): string {
  return taskId ?? messageId
}

/** An answer without a task is told as that of a task which is done with it. */
function encodeAnswer(message: Message): JsonObject {
  return { state: 'completed', message: encodeMessage(message) }
}

function encodeTaskPushConfig(config: PushConfig, id = config.taskId): JsonObject {
  const wire: Draft = { pushNotificationConfig: encodePushConfig(config) }
  if (id !== undefined) wire.id = id
  return wire
}

function encodePushConfig(config: PushConfig): JsonObject {
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

function encodeStatusUpdate(id: string, change: StatusChange): JsonObject {
  const wire: Draft = { id, ...encodeStatus(change) }
  if (change.isLast !== undefined) wire.final = change.isLast
  return wire
}

type StatusChange = Omit<StatusEvent, 'type'> & Pick<StreamEvent, 'isLast'>

function encodeArtifactUpdate(id: string, change: Omit<ArtifactEvent, 'type'>, stream: object): JsonObject {
  const { artifact, metadata } = change
  const index = indexIn(stream, artifact.artifactId)
  const wire: Draft = { id, artifact: encodeArtifact(artifact, index, change) }
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

function encodeSend({ alias, message, configuration = {}, metadata }: SendRequest): JsonObject {
  const { acceptedOutputModes, historyLength, push } = configuration
  return present({
    // A new task is named after the message that begins it, so that one sent again begins no other.
    id: alias ?? message.taskId ?? message.messageId,
    message: encodeMessage(message),
    sessionId: message.contextId,
    pushNotification: push && encodePushConfig(push),
    historyLength: historyLength || undefined,
    acceptedOutputModes: acceptedOutputModes?.length ? acceptedOutputModes : undefined,
    metadata,
  })
}

function addressOf({ taskId, metadata }: TaskAddress) {
  return { id: taskId, metadata }
}
