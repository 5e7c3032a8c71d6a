import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
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
import { isEnded } from '../../protocol/states.ts'
import { type Infer, list } from '../../schema/schema.ts'
import { type Draft, decodeBareStatus, generation } from '../codec.ts'
import type { ResponseDecoder, ServerDialect } from '../dialect.ts'
import { type LenientRead, lenientReader, readParams, readResult } from '../read.ts'
import { decodeResult as proto } from '../v0.3-proto/decode.ts'
import { cleanEvent, cleanPage, cleanSendParams, cleanTask, cleanTaskParams } from './lenient.ts'
import { decodePart, toCarry } from './parts.ts'
import * as wire from './schemas.ts'
import { TaskPushConfig } from './schemas.ts'

/** Where a client would fill in what is missing, the wish of this caller is to be passed on as it is. */
const asSent = toCarry({ asSent: true })

export const decodeRequest = requestDecoder(lenientReader(readParams))

/** Takes nothing that is not in the schema. */
export const decodeRequestStrictly = requestDecoder(readParams)

/**
 * Reads answers and events by the schema, or else after common deviations from it are cleaned up. The card is read by
 * `decodeCard`, in which 0.2 differs.
 */
export function responseDecoder(decodeCard: ResponseDecoder['decodeCard']): ResponseDecoder {
  const read = lenientReader(readResult)
  return {
    decodeResult: {
      sendMessage: (result) => decodeOutcome(read(wire.Outcome, result, cleanEvent)),
      getTask: (result) => decodeTask(read(wire.Task, result, cleanTask)),
      listTasks(result, request) {
        if (isOfProto(result)) return proto.listTasks(result, request)
        const { includeArtifacts = false } = request
        const { tasks, ...page } = read(wire.TaskPage, result, cleanPage)
        return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
      },
      cancelTask: (result) => decodeTask(read(wire.Task, result, cleanTask)),
      createPushConfig: (result) => decodeTaskPushConfig(readResult(wire.TaskPushConfig, result)),
      getPushConfig: (result) => decodeTaskPushConfig(readResult(wire.TaskPushConfig, result)),
      listPushConfigs(result) {
        const configs = readResult(list(wire.TaskPushConfig), result)
        return { configs: configs.map(decodeTaskPushConfig), nextPageToken: '' }
      },
      // It should be null; some leave it out, some send an object.
      deletePushConfig() {},
      getExtendedCard: decodeCard,
    },
    decodeEvent: (event) => decodeEvent(read(wire.StreamEvent, event, cleanEvent)),
    decodeCard,
  }
}

function requestDecoder(read: LenientRead): ServerDialect['decodeRequest'] {
  const decodeSend = (params: unknown): SendRequest => {
    const { message, configuration, metadata } = read(wire.SendParams, params, cleanSendParams)
    return {
      message: decodeMessage(message),
      ...(configuration !== undefined && { configuration: decodeConfiguration(configuration) }),
      ...(metadata !== undefined && { metadata }),
      ...asSent,
    }
  }
  return {
    sendMessage: decodeSend,
    streamMessage: decodeSend,
    getTask(params) {
      const { id, ...request } = read(wire.GetTaskParams, params, cleanTaskParams)
      return { ...request, taskId: id }
    },
    listTasks(params) {
      const { status, lastUpdatedAfter, ...request } = readParams(wire.ListTasksParams, params)
      return {
        ...request,
        ...(status !== undefined && { state: status }),
        ...(lastUpdatedAfter !== undefined && { statusSince: new Date(lastUpdatedAfter).toISOString() }),
      }
    },
    cancelTask: (params) => addressOf(read(wire.TaskParams, params, cleanTaskParams)),
    subscribeToTask: (params) => ({ ...addressOf(read(wire.TaskParams, params, cleanTaskParams)), includeEnded: true }),
    createPushConfig: (params) => decodeNewConfig(readParams(TaskPushConfig, params)),
    getPushConfig: (params) => decodePushConfigRef(readParams(wire.GetPushConfigParams, params)),
    listPushConfigs: (params) => addressOf(readParams(wire.TaskParams, params)),
    deletePushConfig: (params) => decodePushConfigRef(readParams(wire.DeletePushConfigParams, params)),
    getExtendedCard: () => ({}),
  }
}

function decodeMessage(message: Infer<typeof wire.Message>): Message {
  return { ...message, parts: message.parts.map(decodePart) }
}

function decodeConfiguration({
  blocking,
  pushNotificationConfig,
  ...configuration
}: WireConfiguration): SendConfiguration {
  return {
    ...configuration,
    ...(blocking !== undefined && { returnImmediately: !blocking }),
    ...(pushNotificationConfig !== undefined && { push: decodePushConfig(pushNotificationConfig) }),
  }
}

type WireConfiguration = NonNullable<Infer<typeof wire.SendParams>['configuration']>

/** The model has one scheme of authentication: the first. */
function decodePushConfig(given: Infer<typeof wire.PushConfig>, kept: JsonObject = {}): PushConfig {
  const { authentication, ...config } = given
  if (authentication === undefined) return { ...config, ...toCarry(kept) }
  const { schemes, ...secret } = authentication
  const [scheme, ...others] = schemes
  if (scheme === undefined) return { ...config, ...toCarry({ ...kept, authentication: authentication as JsonObject }) }
  const carry = toCarry(others.length > 0 ? { ...kept, schemes } : kept)
  return { ...config, authentication: { scheme, ...secret }, ...carry }
}

function addressOf({ id, ...request }: Infer<typeof wire.TaskParams>): TaskAddress {
  return { ...request, taskId: id }
}

/** Setting a config without an id again replaces it, as all servers of 0.3 do: they name it after its task. */
function decodeNewConfig({ taskId, pushNotificationConfig }: Infer<typeof TaskPushConfig>): PushConfig {
  if (pushNotificationConfig.id !== undefined) return { ...decodePushConfig(pushNotificationConfig), taskId }
  return { ...decodePushConfig(pushNotificationConfig, { isUnnamed: true }), id: taskId, taskId }
}

function decodePushConfigRef(params: Infer<typeof wire.GetPushConfigParams>): PushConfigRef {
  const { id, pushNotificationConfigId, ...request } = params
  const ref = { ...request, taskId: id }
  return pushNotificationConfigId === undefined ? ref : { ...ref, id: pushNotificationConfigId }
}

function decodeOutcome(outcome: Infer<typeof wire.Outcome>): Outcome {
  return 'task' in outcome
    ? { type: 'task', task: decodeTask(outcome.task) }
    : { type: 'message', message: decodeMessage(outcome.message) }
}

function decodeTask({ status, artifacts, history, ...task }: Infer<typeof wire.Task>): Task {
  const kept: Draft = {}
  if (artifacts?.length === 0) kept.artifacts = []
  if (history?.length === 0) kept.history = []
  return {
    ...task,
    status: decodeStatus(status),
    artifacts: artifacts?.map(decodeArtifact) ?? [],
    history: history?.map(decodeMessage) ?? [],
    generation,
    ...toCarry(kept),
  }
}

function decodeStatus({ message, ...status }: Infer<typeof wire.TaskStatus>): TaskStatus {
  const decoded = decodeBareStatus(status, toCarry)
  return message === undefined ? decoded : { ...decoded, message: decodeMessage(message) }
}

function decodeArtifact(artifact: Infer<typeof wire.Artifact>): Artifact {
  return { ...artifact, parts: artifact.parts.map(decodePart) }
}

function decodeEvent(event: Infer<typeof wire.StreamEvent>): StreamEvent {
  if ('status-update' in event) {
    const { status, final, ...update } = event['status-update']
    return { type: 'status', ...update, status: decodeStatus(status), generation, isLast: final }
  }
  if ('artifact-update' in event) {
    const { artifact, ...update } = event['artifact-update']
    return { type: 'artifact', ...update, artifact: decodeArtifact(artifact), generation }
  }
  const outcome = decodeOutcome(event)
  return { ...outcome, isLast: outcome.type === 'message' || isEnded(outcome.task.status.state) }
}

/** Over REST nothing in the question tells which JSON of 0.3 is meant, and most agents answer in that of its proto. */
function isOfProto(page: unknown): boolean {
  const tasks = isObject(page) && Array.isArray(page.tasks) ? page.tasks : []
  return tasks.some((task) => isObject(task) && task.kind === undefined && hasProtoState(task.status))
}

function hasProtoState(status: unknown): boolean {
  return isObject(status) && typeof status.state === 'string' && status.state.startsWith('TASK_STATE_')
}

function decodeTaskPushConfig(config: Infer<typeof wire.TaskPushConfig>): PushConfig {
  return { ...decodePushConfig(config.pushNotificationConfig), taskId: config.taskId }
}
