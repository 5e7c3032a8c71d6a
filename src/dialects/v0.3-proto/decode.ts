import type { JsonObject } from '../../base/json.ts'
import { invalidParams } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Message, Task, TaskStatus } from '../../protocol/model.ts'
import type { Outcome, PushConfig, SendConfiguration, SendRequest } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Infer } from '../../schema/schema.ts'
import { readParams, readResult, unknownGeneration } from '../codec.ts'
import type { ResponseDecoder, ServerDialect } from '../dialect.ts'
import { decodeCard } from './card.ts'
import {
  cleanConfig,
  cleanConfigPage,
  cleanEvent,
  cleanListTasksParams,
  cleanSendParams,
  cleanTask,
  cleanTaskPage,
  withStatusTime,
} from './lenient.ts'
import { decodePart, decodeReferences, toCarry } from './parts.ts'
import { type ConfigAddress, configName } from './resource-names.ts'
import * as wire from './schemas.ts'

/** Marks a request that came from a caller: a client that forwards it adds no defaults. */
const asSent = toCarry({ asSent: true })

/** Rejects params that are not ProtoJSON of the proto. */
export const decodeRequestStrictly: ServerDialect['decodeRequest'] = {
  sendMessage: decodeSend,
  streamMessage: decodeSend,
  getTask(params) {
    const { name, ...request } = readParams(wire.GetTaskRequest, params)
    return { ...request, taskId: name }
  },
  listTasks(params) {
    const { status, statusTimestampAfter, ...request } = readParams(wire.ListTasksRequest, withStatusTime(params))
    return { ...request, state: status, statusSince: statusTimestampAfter }
  },
  cancelTask: (params) => ({ taskId: readParams(wire.TaskRequest, params).name }),
  subscribeToTask: (params) => ({ taskId: readParams(wire.TaskRequest, params).name, includeEnded: true }),
  createPushConfig: (params) => decodeNewConfig(readParams(wire.CreatePushConfigRequest, params)),
  getPushConfig: (params) => readParams(wire.PushConfigRequest, params).name,
  listPushConfigs(params) {
    const { parent, ...request } = readParams(wire.ListPushConfigsRequest, params)
    return { ...request, taskId: parent }
  },
  deletePushConfig: (params) => readParams(wire.PushConfigRequest, params).name,
  getExtendedCard(params) {
    readParams(wire.GetAgentCardRequest, params)
    return {}
  },
}

export const decodeRequest: ServerDialect['decodeRequest'] = {
  ...decodeRequestStrictly,
  sendMessage: (params) => decodeSend(cleanSendParams(params)),
  streamMessage: (params) => decodeSend(cleanSendParams(params)),
  listTasks: (params) => decodeRequestStrictly.listTasks(cleanListTasksParams(params)),
}

/** Results are always cleaned before they are read: most agents deviate from the proto. */
export const decodeResult: ResponseDecoder['decodeResult'] = {
  sendMessage: (result) => decodeOutcome(readResult(wire.SendMessageResponse, cleanEvent(result))),
  getTask(result, { historyLength }) {
    const task = decodeTask(readResult(wire.Task, cleanTask(result)))
    // Over gRPC, a history length of 0 cannot be distinguished from none.
    return historyLength === 0 ? { ...task, history: [] } : task
  },
  listTasks(result, { includeArtifacts = false }) {
    const { tasks, ...page } = readResult(wire.ListTasksResponse, cleanTaskPage(result))
    return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
  },
  createPushConfig: (result) => decodeConfig(readResult(wire.TaskPushConfig, cleanConfig(result))),
  getPushConfig: (result) => decodeConfig(readResult(wire.TaskPushConfig, cleanConfig(result))),
  listPushConfigs(result) {
    const { configs = [], nextPageToken = '' } = readResult(wire.ListPushConfigsResponse, cleanConfigPage(result))
    return { configs: configs.map(decodeConfig), nextPageToken }
  },
  cancelTask: (result) => decodeTask(readResult(wire.Task, cleanTask(result))),
  // Agents return `{}`, `null` or nothing.
  deletePushConfig() {},
  getExtendedCard: decodeCard,
}

export function decodeEvent(event: unknown): StreamEvent {
  const response = readResult(wire.StreamResponse, cleanEvent(event))
  if ('statusUpdate' in response) {
    const { contextId = '', status, final, ...update } = response.statusUpdate
    const generation = unknownGeneration
    return { type: 'status', ...update, contextId, status: decodeStatus(status), generation, isLast: final }
  }
  if ('artifactUpdate' in response) {
    const { contextId = '', artifact, ...update } = response.artifactUpdate
    const generation = unknownGeneration
    return { type: 'artifact', ...update, contextId, artifact: decodeArtifact(artifact), generation }
  }
  const outcome = decodeOutcome(response)
  return { ...outcome, isLast: outcome.type === 'message' || isEnded(outcome.task.status.state) }
}

function decodeSend(params: unknown): SendRequest {
  const { message, configuration, metadata } = readParams(wire.SendMessageRequest, params)
  if (message.role !== 'user') {
    throw invalidParams('message.role', 'expected ROLE_USER, got ROLE_AGENT, which only the agent itself may be')
  }
  return {
    message: decodeMessage(message),
    configuration: configuration && decodeConfiguration(configuration),
    metadata,
    ...asSent,
  }
}

function decodeMessage({ content, ...message }: Infer<typeof wire.Message>): Message {
  return { ...message, ...decodeReferences(message), parts: content.map(decodePart) }
}

/**
 * ProtoJSON omits false, so a configuration without `blocking` means not to wait; only a caller without a configuration
 * leaves it open. A `historyLength` of 0 means no history over REST. In gRPC it cannot be distinguished from none, so the
 * conversion from gRPC to JSON never writes 0.
 */
function decodeConfiguration({ blocking, pushNotification, ...configuration }: WireConfiguration): SendConfiguration {
  return {
    ...configuration,
    returnImmediately: !blocking,
    push: pushNotification && decodePushConfig(pushNotification),
  }
}

type WireConfiguration = NonNullable<Infer<typeof wire.SendMessageRequest>['configuration']>

/** The model has one authentication scheme: the first. */
function decodePushConfig(config: WirePushConfig, extras: JsonObject = {}): PushConfig {
  const { authentication, ...fields } = config
  if (authentication === undefined) return { ...fields, ...toCarry(extras) }
  const { schemes = [], credentials } = authentication
  const [scheme, ...others] = schemes
  if (scheme === undefined) return { ...fields, ...toCarry({ ...extras, credentials: credentials ?? '' }) }
  const carry = toCarry(others.length > 0 ? { ...extras, schemes } : extras)
  return { ...fields, authentication: { scheme, credentials }, ...carry }
}

type WirePushConfig = Infer<typeof wire.PushConfig>

/** A config without an id gets the id of its task, as in all 0.3 servers, so that the next one replaces it. */
function decodeNewConfig({ parent, configId, config }: Infer<typeof wire.CreatePushConfigRequest>): PushConfig {
  const { name = '', pushNotificationConfig } = config
  const address = { taskId: parent, id: configId || pushNotificationConfig.id || parent }
  const extras: JsonObject = name === configName(address) ? {} : { name }
  const namedConfig = configId ? pushNotificationConfig : { ...pushNotificationConfig, id: address.id }
  return decodeNamedConfig(namedConfig, address, extras)
}

/** The id of a config is in its name. Its own id may differ or be missing, and is kept. */
function decodeNamedConfig(config: WirePushConfig, address: ConfigAddress, extras: JsonObject = {}): PushConfig {
  const allExtras = config.id === address.id ? extras : { ...extras, id: config.id ?? '' }
  return { ...decodePushConfig(config, allExtras), ...address }
}

function decodeTask(task: Infer<typeof wire.Task>): Task {
  const { contextId = '', status, artifacts = [], history = [], ...rest } = task
  return {
    ...rest,
    contextId,
    status: decodeStatus(status),
    artifacts: artifacts.map(decodeArtifact),
    history: history.map(decodeMessage),
    generation: unknownGeneration,
  }
}

function decodeStatus({ message, ...status }: Infer<typeof wire.TaskStatus>): TaskStatus {
  return { ...status, message: message && decodeMessage(message) }
}

function decodeArtifact({ parts, ...artifact }: Infer<typeof wire.Artifact>): Artifact {
  return { ...artifact, parts: parts.map(decodePart) }
}

function decodeConfig({ name, pushNotificationConfig }: Infer<typeof wire.TaskPushConfig>): PushConfig {
  return decodeNamedConfig(pushNotificationConfig, name)
}

function decodeOutcome(response: Infer<typeof wire.SendMessageResponse>): Outcome {
  return 'task' in response
    ? { type: 'task', task: decodeTask(response.task) }
    : { type: 'message', message: decodeMessage(response.message) }
}
