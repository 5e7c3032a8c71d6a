import type { JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Message, Part, Task, TaskStatus } from '../../protocol/model.ts'
import type { Outcome, PushConfig, PushConfigRef, SendConfiguration, SendRequest } from '../../protocol/service.ts'
import { type Draft, encodeState, encodeStateFilter, rejectRevision, withoutEmpty } from '../codec.ts'
import type { ClientDialect, PushFormat, ServerDialect } from '../dialect.ts'
import { encodeCard } from './card.ts'
import { roleNames, stateNames, substitutes } from './schemas.ts'

// Only known members are written: strict protobuf parsers fail on others. Empty strings and lists are left out, as in
// ProtoJSON.

export const encodeResult = {
  sendMessage: encodeOutcome,
  getTask: encodeTask,
  // All four members are always present (A2A 1.0 §3.1.4).
  listTasks: ({ tasks, nextPageToken, pageSize, totalSize, withArtifacts }) => ({
    tasks: tasks.map((task) => encodeListedTask(task, withArtifacts)),
    nextPageToken,
    pageSize,
    totalSize,
  }),
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

export const encodeRequest: ClientDialect['encodeRequest'] = {
  sendMessage: encodeSend,
  streamMessage: encodeSend,
  getTask: ({ tenant, taskId, historyLength }) => withoutEmpty({ tenant, id: taskId, historyLength }),
  listTasks({ tenant, contextId, state, statusSince, pageSize, pageToken, historyLength, includeArtifacts }) {
    const status = state && encodeStateFilter(state, stateNames)
    const page = { pageSize, pageToken, historyLength, includeArtifacts }
    return withoutEmpty({ tenant, contextId, status, statusTimestampAfter: statusSince, ...page })
  },
  cancelTask: ({ tenant, taskId, metadata }) => withoutEmpty({ tenant, id: taskId, metadata }),
  subscribeToTask: ({ tenant, taskId }) => withoutEmpty({ tenant, id: taskId }),
  createPushConfig: encodePushConfig,
  getPushConfig: encodePushConfigRef,
  listPushConfigs: ({ tenant, taskId, pageSize, pageToken }) =>
    withoutEmpty({ tenant, taskId, pageSize: pageSize || undefined, pageToken }),
  deletePushConfig: encodePushConfigRef,
  getExtendedCard: ({ tenant }) => withoutEmpty({ tenant }),
}

/** A webhook gets the events of a stream, one in each request (A2A 1.0 §4.3.3). */
export const pushFormat: PushFormat = {
  contentType: 'application/a2a+json',
  kinds: ['status', 'rest', 'artifact', 'message'],
  defaultKinds: ['status', 'artifact', 'message'],
  // An answer is an artifact and a status, and a notification is one event: the task has both.
  sendsTask: (event) => event.type === 'status' && event.status.isAnswer === true,
  replacesUnnamed: false,
  encode(event) {
    const [wire = {}] = encodeEvent(event)
    return wire
  },
}

export function encodeEvent(event: StreamEvent): readonly JsonObject[] {
  switch (event.type) {
    case 'task':
    case 'message':
      return [encodeOutcome(event)]
    case 'status': {
      const { taskId, contextId, status } = event
      const wire: Draft = { taskId, contextId, status: encodeStatus(status) }
      const metadata = encodeMetadata(event)
      if (metadata) wire.metadata = metadata
      return [{ statusUpdate: wire }]
    }
    case 'artifact': {
      const { taskId, contextId, artifact, append, lastChunk, metadata } = event
      const wire: Draft = { taskId, contextId, artifact: encodeArtifact(artifact) }
      if (append) wire.append = true
      if (lastChunk) wire.lastChunk = true
      if (metadata) wire.metadata = metadata
      return [{ artifactUpdate: wire }]
    }
  }
}

function encodeOutcome(outcome: Outcome): JsonObject {
  return outcome.type === 'task' ? { task: encodeTask(outcome.task) } : { message: encodeMessage(outcome.message) }
}

function encodeTask(task: Task): JsonObject {
  const wire = draftTask(task)
  if (task.artifacts.length > 0) wire.artifacts = task.artifacts.map(encodeArtifact)
  return wire
}

function draftTask(task: Task): Draft {
  const { id, contextId, status, history } = task
  const wire: Draft = { id }
  if (contextId) wire.contextId = contextId
  wire.status = encodeStatus(status)
  if (history.length > 0) wire.history = history.map(encodeMessage)
  const metadata = encodeMetadata(task)
  if (metadata) wire.metadata = metadata
  return wire
}

function encodeStatus(status: TaskStatus): JsonObject {
  const { state, message, timestamp } = status
  const wire: Draft = { state: stateNames[state === 'unknown' ? 'failed' : state] }
  if (timestamp !== undefined) wire.timestamp = timestamp
  if (message) wire.message = encodeMessage(message)
  return wire
}

/** The metadata of a task or event, which holds the state that 1.0 does not have. */
function encodeMetadata({ status, metadata }: Pick<Task, 'status' | 'metadata'>): JsonObject | undefined {
  const { state } = status
  return state === 'unknown' ? encodeState(substitutes, { state, metadata }).metadata : metadata
}

function encodeMessage(message: Message): JsonObject {
  const { messageId, role, parts, contextId, taskId, referenceTaskIds, extensions, metadata } = message
  const wire: Draft = { messageId, role: roleNames[role], parts: parts.map(encodePart) }
  if (contextId) wire.contextId = contextId
  if (taskId) wire.taskId = taskId
  if (referenceTaskIds?.length) wire.referenceTaskIds = referenceTaskIds
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

/** The member of a oneof is present even if it is empty: it determines the kind of the part. */
function draftContent(part: Part): Draft {
  if ('text' in part) return { text: part.text }
  if ('raw' in part) return { raw: part.raw }
  if ('url' in part) return { url: part.url }
  return { data: part.data }
}

function encodeArtifact({ artifactId, parts, name, description, extensions, metadata }: Artifact): JsonObject {
  const wire: Draft = { artifactId, parts: parts.map(encodePart) }
  if (name) wire.name = name
  if (description) wire.description = description
  if (extensions?.length) wire.extensions = extensions
  if (metadata) wire.metadata = metadata
  return wire
}

/** A list of tasks with artifacts has the member even if there are none (A2A 1.0 §3.1.4). */
function encodeListedTask(task: Task, withArtifacts: boolean): JsonObject {
  const wire = draftTask(task)
  if (withArtifacts) wire.artifacts = task.artifacts.map(encodeArtifact)
  return wire
}

function encodePushConfig({ tenant, id, taskId, url, token, authentication }: PushConfig): JsonObject {
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

function encodeSend({ tenant, message, configuration, metadata }: SendRequest): JsonObject {
  rejectRevision(configuration)
  return withoutEmpty({
    tenant,
    message: encodeMessage(message),
    configuration: configuration && encodeConfiguration(configuration),
    metadata,
  })
}

function encodeConfiguration(configuration: SendConfiguration): JsonObject {
  const { acceptedOutputModes, historyLength, returnImmediately, push } = configuration
  return withoutEmpty({
    acceptedOutputModes,
    taskPushNotificationConfig: push && encodePushConfig(push),
    historyLength,
    returnImmediately: returnImmediately || undefined,
  })
}

function encodePushConfigRef({ tenant, taskId, id }: PushConfigRef): JsonObject {
  return withoutEmpty({ tenant, taskId, id })
}
