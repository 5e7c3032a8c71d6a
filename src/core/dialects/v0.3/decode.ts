import { isObject, type JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Message, Task, TaskStatus } from '../../protocol/model.ts'
import type { Outcome, PushConfig } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Infer } from '../../schema/schema.ts'
import { list } from '../../schema/values.ts'
import { type Draft, readResult, unknownGeneration } from '../codec.ts'
import type { ResponseDecoder } from '../dialect.ts'
import { lenientReader } from '../legacy-codec.ts'
import { decodeResult as decodeProtoResult } from '../v0.3-proto/decode.ts'
import { cleanEvent, cleanPage, cleanTask } from './lenient.ts'
import { decodePart, toCarry } from './parts.ts'
import * as wire from './schemas.ts'

/** Reads answers and events, repairing common deviations from the schema. 0.2 differs in `decodeCard`. */
export function createResponseDecoder(decodeCard: ResponseDecoder['decodeCard']): ResponseDecoder {
  const read = lenientReader(readResult)
  return {
    decodeResult: {
      sendMessage: (result) => decodeOutcome(read(wire.Outcome, result, cleanEvent)),
      getTask: (result) => decodeTask(read(wire.Task, result, cleanTask)),
      listTasks(result, request) {
        if (isProtoPage(result)) return decodeProtoResult.listTasks(result, request)
        const { includeArtifacts = false } = request
        const { tasks, ...page } = read(wire.TaskPage, result ?? {}, cleanPage)
        return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
      },
      cancelTask: (result) => decodeTask(read(wire.Task, result, cleanTask)),
      createPushConfig: (result) => decodeTaskPushConfig(readResult(wire.TaskPushConfig, result)),
      getPushConfig: (result) => decodeTaskPushConfig(readResult(wire.TaskPushConfig, result)),
      listPushConfigs(result) {
        // Some agents write an empty list as null; over REST, that is an empty answer.
        const items = isObject(result) ? result.configs : result
        const configs = readResult(list(wire.TaskPushConfig), items ?? [])
        return { configs: configs.map(decodeTaskPushConfig), nextPageToken: '' }
      },
      // The result should be null, but some agents send an object or nothing.
      deletePushConfig() {},
      getExtendedCard: decodeCard,
    },
    decodeEvent: (event) => decodeEvent(read(wire.StreamEvent, event, cleanEvent)),
    decodeCard,
  }
}

export function decodeMessage(message: Infer<typeof wire.Message>): Message {
  return { ...message, parts: message.parts.map(decodePart) }
}

/** The model has one authentication scheme: the first. */
export function decodePushConfig(wireConfig: Infer<typeof wire.PushConfig>, extras: JsonObject = {}): PushConfig {
  const { authentication, ...config } = wireConfig
  if (authentication === undefined) return { ...config, ...toCarry(extras) }
  const { schemes, ...secret } = authentication
  const [scheme, ...others] = schemes
  if (scheme === undefined)
    return { ...config, ...toCarry({ ...extras, authentication: authentication as JsonObject }) }
  const carry = toCarry(others.length > 0 ? { ...extras, schemes } : extras)
  return { ...config, authentication: { scheme, ...secret }, ...carry }
}

function decodeOutcome(outcome: Infer<typeof wire.Outcome>): Outcome {
  return 'task' in outcome
    ? { type: 'task', task: decodeTask(outcome.task) }
    : { type: 'message', message: decodeMessage(outcome.message) }
}

function decodeTask({ status, artifacts, history, ...task }: Infer<typeof wire.Task>): Task {
  const extras: Draft = {}
  if (artifacts?.length === 0) extras.artifacts = []
  if (history?.length === 0) extras.history = []
  return {
    ...task,
    status: decodeStatus(status),
    artifacts: artifacts?.map(decodeArtifact) ?? [],
    history: history?.map(decodeMessage) ?? [],
    generation: unknownGeneration,
    ...toCarry(extras),
  }
}

function decodeStatus({ message, ...status }: Infer<typeof wire.TaskStatus>): TaskStatus {
  return message === undefined ? status : { ...status, message: decodeMessage(message) }
}

function decodeArtifact(artifact: Infer<typeof wire.Artifact>): Artifact {
  return { ...artifact, parts: artifact.parts.map(decodePart) }
}

function decodeEvent(event: Infer<typeof wire.StreamEvent>): StreamEvent {
  if ('status-update' in event) {
    const { status, final, ...update } = event['status-update']
    return { type: 'status', ...update, status: decodeStatus(status), generation: unknownGeneration, isLast: final }
  }
  if ('artifact-update' in event) {
    const { artifact, ...update } = event['artifact-update']
    return { type: 'artifact', ...update, artifact: decodeArtifact(artifact), generation: unknownGeneration }
  }
  const outcome = decodeOutcome(event)
  return { ...outcome, isLast: outcome.type === 'message' || isEnded(outcome.task.status.state) }
}

/** Over REST, the request does not show which JSON of 0.3 it means, and most agents answer in the JSON of the proto. */
function isProtoPage(page: unknown): boolean {
  const tasks = isObject(page) && Array.isArray(page.tasks) ? page.tasks : []
  return tasks.some((task) => isObject(task) && task.kind === undefined && hasProtoState(task.status))
}

function hasProtoState(status: unknown): boolean {
  return isObject(status) && typeof status.state === 'string' && status.state.startsWith('TASK_STATE_')
}

function decodeTaskPushConfig(config: Infer<typeof wire.TaskPushConfig>): PushConfig {
  return { ...decodePushConfig(config.pushNotificationConfig), taskId: config.taskId }
}
