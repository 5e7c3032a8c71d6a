import { defined, type JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Message, Task, TaskStatus } from '../../protocol/model.ts'
import type {
  Outcome,
  PushConfig,
  PushConfigRef,
  SendConfiguration,
  SendRequest,
  TaskAddress,
} from '../../protocol/service.ts'
import { type Draft, encodeStateFilter, rejectRevision, withoutEmpty } from '../codec.ts'
import type { ClientDialect, ServerDialect } from '../dialect.ts'
import { encodeCard } from './card.ts'
import { encodePart, encodeReferences, readCarry } from './parts.ts'
import { type ConfigAddress, configName, taskName } from './resource-names.ts'
import { AnyState, Role, State } from './schemas.ts'

// Empty strings and lists are left out, as in ProtoJSON.

export const encodeResult = {
  sendMessage: encodeOutcome,
  getTask: encodeTask,
  listTasks: ({ tasks, nextPageToken, pageSize, totalSize }) => ({
    tasks: tasks.map(encodeTask),
    nextPageToken,
    pageSize,
    totalSize,
  }),
  cancelTask: encodeTask,
  createPushConfig: encodeNamedConfig,
  getPushConfig: encodeNamedConfig,
  listPushConfigs({ configs, nextPageToken }) {
    const wire: Draft = {}
    if (configs.length > 0) wire.configs = configs.map(encodeNamedConfig)
    if (nextPageToken) wire.nextPageToken = nextPageToken
    return wire
  },
  deletePushConfig: () => ({}),
  getExtendedCard: encodeCard,
} satisfies ServerDialect['encodeResult']

export function encodeEvent(event: StreamEvent): readonly JsonObject[] {
  switch (event.type) {
    case 'task':
    case 'message':
      return [encodeOutcome(event)]
    case 'status': {
      const wire = draftUpdate(event)
      wire.status = encodeStatus(event.status)
      if (event.isLast) wire.final = true
      return [{ statusUpdate: wire }]
    }
    case 'artifact': {
      const wire = draftUpdate(event)
      wire.artifact = encodeArtifact(event.artifact)
      if (event.append) wire.append = true
      if (event.lastChunk) wire.lastChunk = true
      return [{ artifactUpdate: wire }]
    }
  }
}

export const encodeRequest: ClientDialect['encodeRequest'] = {
  // Always explicit: agents disagree on the default.
  sendMessage: (request) => encodeSend(request, { blocking: true }),
  streamMessage: (request) => encodeSend(request, {}),
  getTask: ({ taskId, historyLength }) => withoutEmpty({ name: taskName(taskId), historyLength }),
  listTasks({ contextId, state, statusSince, pageSize, pageToken, historyLength, includeArtifacts }) {
    const status = state && encodeStateFilter(state, State.names)
    const page = { pageSize, pageToken, historyLength, includeArtifacts }
    return withoutEmpty({ contextId, status, statusTimestampAfter: statusSince, ...page })
  },
  cancelTask: encodeAddress,
  subscribeToTask: encodeAddress,
  createPushConfig: encodeNewConfig,
  getPushConfig: encodePushConfigRef,
  listPushConfigs: ({ taskId, pageSize, pageToken }) =>
    withoutEmpty({ parent: taskName(taskId), pageSize: pageSize || undefined, pageToken }),
  deletePushConfig: encodePushConfigRef,
  getExtendedCard: () => ({}),
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

function encodeStatus(status: TaskStatus): JsonObject {
  const { state, timestamp } = status
  const wire: Draft = { state: AnyState.names[state] }
  if (timestamp !== undefined) wire.timestamp = timestamp
  if (status.message) wire.message = encodeMessage(status.message)
  return wire
}

function encodeMessage(message: Message): JsonObject {
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

function encodeArtifact({ artifactId, parts, name, description, extensions, metadata }: Artifact): JsonObject {
  const wire: Draft = { artifactId, parts: parts.map(encodePart) }
  if (name) wire.name = name
  if (description) wire.description = description
  if (extensions?.length) wire.extensions = extensions
  if (metadata) wire.metadata = metadata
  return wire
}

function encodeOutcome(outcome: Outcome): JsonObject {
  return outcome.type === 'task' ? { task: encodeTask(outcome.task) } : { message: encodeMessage(outcome.message) }
}

function encodeNamedConfig(config: PushConfig): JsonObject {
  return { name: configName(addressOf(config)), pushNotificationConfig: encodePushConfig(config) }
}

/** A config without an id has the id of its task, as 0.3 servers assign it. */
function addressOf({ taskId = '', id = taskId }: Partial<ConfigAddress>): ConfigAddress {
  return { taskId, id }
}

function encodePushConfig(config: PushConfig): JsonObject {
  const { url, token, authentication } = config
  const { id = config.id, schemes, credentials } = readCarry(config.carry)
  const wire: Draft = { url }
  if (id) wire.id = id
  if (token) wire.token = token
  if (authentication) {
    const { scheme, credentials } = authentication
    wire.authentication = defined({
      schemes: Array.isArray(schemes) && schemes[0] === scheme ? schemes : [scheme],
      credentials: credentials || undefined,
    })
  } else if (credentials !== undefined) {
    wire.authentication = credentials ? { credentials } : {}
  }
  return wire
}

function draftUpdate({ taskId, contextId, metadata }: Update): Draft {
  const wire: Draft = { taskId }
  if (contextId) wire.contextId = contextId
  if (metadata) wire.metadata = metadata
  return wire
}

type Update = Extract<StreamEvent, { readonly type: 'status' | 'artifact' }>

/** `defaults` are the members of the configuration that the request leaves open. */
function encodeSend(request: SendRequest, defaults: JsonObject): JsonObject {
  const { message, configuration, metadata } = request
  rejectRevision(configuration)
  const isOpen = configuration?.returnImmediately === undefined && !readCarry(request.carry).asSent
  const wire = { ...(isOpen && defaults), ...encodeConfiguration(configuration) }
  const hasConfiguration = configuration !== undefined || Object.keys(wire).length > 0
  return withoutEmpty({ message: encodeMessage(message), configuration: hasConfiguration ? wire : undefined, metadata })
}

function encodeConfiguration(configuration: SendConfiguration = {}): JsonObject {
  const { acceptedOutputModes, historyLength, returnImmediately, push } = configuration
  return withoutEmpty({
    acceptedOutputModes,
    pushNotification: push && encodePushConfig(push),
    historyLength,
    blocking: returnImmediately === false || undefined,
  })
}

function encodeAddress({ taskId }: TaskAddress): JsonObject {
  return { name: taskName(taskId) }
}

function encodeNewConfig(config: PushConfig): JsonObject {
  const { taskId, id } = addressOf(config)
  const { name, ...rest } = encodeNamedConfig(config)
  const { name: sentName = name } = readCarry(config.carry)
  return { parent: taskName(taskId), configId: id, config: sentName ? { name: sentName, ...rest } : rest }
}

function encodePushConfigRef(ref: PushConfigRef): JsonObject {
  return { name: configName(addressOf(ref)) }
}
