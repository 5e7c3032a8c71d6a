import type { JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Message, Task, TaskStatus } from '../../protocol/model.ts'
import type { Outcome, PushConfig } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Infer } from '../../schema/schema.ts'
import { readResult, unknownGeneration } from '../codec.ts'
import type { ResponseDecoder } from '../dialect.ts'
import { decodeCard } from './card.ts'
import { cleanConfig, cleanConfigPage, cleanEvent, cleanTask, cleanTaskPage } from './lenient.ts'
import { decodePart, decodeReferences, toCarry } from './parts.ts'
import type { ConfigAddress } from './resource-names.ts'
import * as wire from './schemas.ts'

/** Results are always cleaned before they are read: most agents deviate from the proto. */
export const decodeResult: ResponseDecoder['decodeResult'] = {
  sendMessage: (result) => decodeOutcome(readResult(wire.SendMessageResponse, cleanEvent(result))),
  getTask(result, { historyLength }) {
    const task = decodeTask(readResult(wire.Task, cleanTask(result)))
    // Over gRPC, a history length of 0 cannot be distinguished from none.
    return historyLength === 0 ? { ...task, history: [] } : task
  },
  listTasks(result, { includeArtifacts = false }) {
    const { tasks, ...page } = readResult(wire.ListTasksResponse, cleanTaskPage(result ?? {}))
    return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
  },
  createPushConfig: (result) => decodeConfig(readResult(wire.TaskPushConfig, cleanConfig(result))),
  getPushConfig: (result) => decodeConfig(readResult(wire.TaskPushConfig, cleanConfig(result))),
  listPushConfigs(result) {
    const { configs = [], nextPageToken = '' } = readResult(wire.ListPushConfigsResponse, cleanConfigPage(result ?? {}))
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

export function decodeMessage({ content, ...message }: Infer<typeof wire.Message>): Message {
  return { ...message, ...decodeReferences(message), parts: content.map(decodePart) }
}

/** The model has one authentication scheme: the first. */
export function decodePushConfig(config: WirePushConfig, extras: JsonObject = {}): PushConfig {
  const { authentication, ...fields } = config
  if (authentication === undefined) return { ...fields, ...toCarry(extras) }
  const { schemes = [], credentials } = authentication
  const [scheme, ...others] = schemes
  if (scheme === undefined) return { ...fields, ...toCarry({ ...extras, credentials: credentials ?? '' }) }
  const carry = toCarry(others.length > 0 ? { ...extras, schemes } : extras)
  return { ...fields, authentication: { scheme, credentials }, ...carry }
}

type WirePushConfig = Infer<typeof wire.PushConfig>

/** The id of a config is in its name. Its own id may differ or be missing, and is kept. */
export function decodeNamedConfig(config: WirePushConfig, address: ConfigAddress, extras: JsonObject = {}): PushConfig {
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
