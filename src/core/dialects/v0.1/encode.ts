import { defined, isObject, type Json, type JsonObject } from '../../base/json.ts'
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
import { type Draft, encodeState, rejectRevision } from '../codec.ts'
import type { ClientDialect, PushFormat, ServerDialect } from '../dialect.ts'
import { missingOperations } from './methods.ts'
import { encodePart, readCarry } from './parts.ts'
import { substitutes } from './schemas.ts'

/** The artifact indexes of each open stream, by the request that opened it. */
const artifactIndexes = new WeakMap<object, Map<string, number>>()

/** Callers choose the ids of their tasks: results have the id of the request. */
export const encodeResult: ServerDialect['encodeResult'] = {
  ...missingOperations,
  sendMessage: encodeOutcome,
  getTask: (task, { taskId }) => encodeTask(task, taskId),
  cancelTask: (task, { taskId }) => encodeTask(task, taskId),
  createPushConfig: (config, { taskId }) => encodeTaskPushConfig(config, taskId),
  getPushConfig: (config, { taskId }) => encodeTaskPushConfig(config, taskId),
}

export const encodeRequest: ClientDialect['encodeRequest'] = {
  ...missingOperations,
  sendMessage: encodeSend,
  streamMessage: encodeSend,
  getTask: ({ historyLength, ...address }) =>
    defined({ ...taskFields(address), historyLength: historyLength || undefined }),
  cancelTask: (address) => defined(taskFields(address)),
  subscribeToTask(address) {
    const { historyLength } = readCarry(address.carry)
    return defined({ ...taskFields(address), historyLength: historyLength || undefined })
  },
  createPushConfig: (config) => encodeTaskPushConfig(config),
  getPushConfig: (address) => defined(taskFields(address)),
}

/** 0.1 leaves the format to the server, but requires the task's id and status in it. */
export const pushFormat: PushFormat = {
  contentType: 'application/json',
  kinds: ['status', 'rest'],
  defaultKinds: ['rest'],
  sendsTask: () => false,
  replacesUnnamed: true,
  encode(event, taskId) {
    const [wire] = encodeEvent(event, { taskId })
    return { eventType: 'taskUpdate', taskId, ...wire }
  },
}

/** A 0.1 stream has status and artifact updates, never a task or a message. */
export function encodeEvent(event: StreamEvent, request: RequestOf<StreamOperation>): readonly JsonObject[] {
  const requestedId = 'message' in request ? request.quirks?.alias : request.taskId
  switch (event.type) {
    case 'task': {
      const { isLast } = event
      const { status, metadata, artifacts } = event.task
      const id = requestedId ?? event.task.id
      const statusUpdate = encodeStatusUpdate(id, { status, metadata, isLast })
      const artifactUpdates = artifacts.map((artifact) => encodeArtifactUpdate(id, { artifact }, request))
      // Clients stop reading after the last status.
      return isLast ? [...artifactUpdates, statusUpdate] : [statusUpdate, ...artifactUpdates]
    }
    case 'message': {
      const { message } = event
      return [{ id: requestedId ?? idOfReply(message), status: encodeReply(message), final: true }]
    }
    case 'status':
      return [encodeStatusUpdate(requestedId ?? event.taskId, event)]
    case 'artifact':
      return [encodeArtifactUpdate(requestedId ?? event.taskId, event, request)]
  }
}

/**
 * The index of an artifact in a stream: the number of artifacts before it. 0.1 identifies artifacts by index. Events are
 * encoded one by one, so the request that opened the stream identifies it.
 */
export function indexIn(stream: object, artifactId: string): number {
  const indexes = artifactIndexes.get(stream) ?? new Map<string, number>()
  artifactIndexes.set(stream, indexes)
  const index = indexes.get(artifactId) ?? indexes.size
  indexes.set(artifactId, index)
  return index
}

function encodeOutcome(outcome: Outcome, { quirks: { alias } = {}, message: sentMessage }: SendRequest): JsonObject {
  if (outcome.type === 'task') return encodeTask(outcome.task, alias ?? outcome.task.id)
  const { message } = outcome
  const { contextId = sentMessage.contextId, parts } = message
  const wire: Draft = {
    id: alias ?? idOfReply(message),
    status: encodeReply(message),
    artifacts: [{ parts: parts.map(encodePart), index: 0 }],
  }
  if (contextId !== undefined) wire.sessionId = contextId
  return wire
}

function encodeTask(task: Task, id: string): JsonObject {
  const { contextId, artifacts, history, carry } = task
  const extras = readCarry(carry)
  const wire: Draft = { id, ...encodeStatus(task) }
  if (!extras.sessionless) wire.sessionId = contextId
  if (artifacts.length > 0 || extras.artifacts) {
    wire.artifacts = artifacts.map((artifact, position) =>
      encodeArtifact(artifact, position, readCarry(artifact.carry)),
    )
  }
  if (history.length > 0 || extras.history) wire.history = history.map(encodeMessage)
  return wire
}

/** Encodes a status together with the metadata of its task or event, which holds states that 0.1 does not have. */
function encodeStatus({ status, metadata: outerMetadata }: Omit<StatusEvent, 'type'>): Draft {
  const { timestamp } = status
  const { state, metadata } = encodeState(substitutes, { state: status.state, metadata: outerMetadata })
  const wire: Draft = { state }
  if (status.message !== undefined) wire.message = encodeMessage(status.message)
  if (timestamp !== undefined) wire.timestamp = timestamp
  return metadata === undefined ? { status: wire } : { status: wire, metadata }
}

function encodeMessage({ role, parts, metadata }: Message): JsonObject {
  const wire: Draft = { role, parts: parts.map(encodePart) }
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

/** An artifact that came over 0.1 keeps its index, or has none. */
function encodeArtifact(artifact: Artifact, position: number, { append, lastChunk }: Flags): JsonObject {
  const { name, description, parts, metadata, carry } = artifact
  const { index = position } = readCarry(carry)
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

function idOfReply({ taskId, messageId }: Message): string {
  return taskId ?? messageId
}

/** A reply without a task is encoded as the status of a completed task. */
function encodeReply(message: Message): JsonObject {
  return { state: 'completed', message: encodeMessage(message) }
}

function encodeTaskPushConfig(config: PushConfig, id = config.taskId): JsonObject {
  // A task without a webhook: the text of 0.1 allows null.
  const isMissing = config.url === ''
  const wire: Draft = { pushNotificationConfig: isMissing ? null : encodePushConfig(config) }
  if (id !== undefined) wire.id = id
  return wire
}

function encodePushConfig(config: PushConfig): JsonObject {
  const { url, token, authentication, carry } = config
  const wire: Draft = { url }
  if (token !== undefined) wire.token = token
  if (authentication !== undefined) {
    const { scheme, credentials } = authentication
    const { authentication: received } = readCarry(carry)
    const members = startsWithScheme(received, scheme) ? received : { schemes: [scheme] }
    wire.authentication = credentials === undefined ? members : { ...members, credentials }
  }
  return wire
}

function startsWithScheme(authentication: Json | undefined, scheme: string): authentication is JsonObject {
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

function encodeSend({ quirks: { alias } = {}, message, configuration = {}, metadata }: SendRequest): JsonObject {
  const { acceptedOutputModes, historyLength, push } = configuration
  // A new task has the id of its first message, so that a repeated send creates no second task.
  const id = alias ?? message.taskId ?? message.messageId
  rejectRevision(configuration)
  return defined({
    id,
    message: defined({ ...encodeMessage(message), extensions: message.extensions }),
    // A task whose session is unknown counts as its own, see `decodeEvent`.
    sessionId: message.contextId === id ? undefined : message.contextId,
    pushNotification: push && encodePushConfig(push),
    historyLength: historyLength || undefined,
    acceptedOutputModes: acceptedOutputModes?.length ? acceptedOutputModes : undefined,
    metadata,
  })
}

function taskFields({ taskId, metadata }: TaskAddress) {
  return { id: taskId, metadata }
}
