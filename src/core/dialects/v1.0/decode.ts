import { isObject, type JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Task } from '../../protocol/model.ts'
import type { Outcome } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Infer } from '../../schema/schema.ts'
import { decodeState, readResult, unknownGeneration } from '../codec.ts'
import type { ClientDialect } from '../dialect.ts'
import { decodeCard } from './card.ts'
import * as wire from './schemas.ts'

// The schemas read messages, artifacts and push configs as the model has them. Some agents write an empty list as null.

export const decodeResult: ClientDialect['decodeResult'] = {
  sendMessage: (result) => decodeOutcome(readResult(wire.SendMessageResponse, cleanResponse(result))),
  getTask: (result) => decodeTask(readResult(wire.Task, cleanTask(result))),
  listTasks(result, { includeArtifacts = false }) {
    const { tasks, ...page } = readResult(wire.ListTasksResponse, cleanPage(result ?? {}))
    return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
  },
  cancelTask: (result) => decodeTask(readResult(wire.Task, cleanTask(result))),
  createPushConfig: (result) => readResult(wire.PushConfig, result),
  getPushConfig: (result) => readResult(wire.PushConfig, result),
  listPushConfigs(result) {
    const { configs = [], nextPageToken = '' } = readResult(wire.ListPushConfigsResponse, result ?? {})
    return { configs, nextPageToken }
  },
  // Agents return `{}`, `null` or nothing.
  deletePushConfig() {},
  getExtendedCard: decodeCard,
}

export function decodeEvent(event: unknown): StreamEvent {
  const response = readResult(wire.StreamResponse, cleanResponse(event))
  if ('statusUpdate' in response) {
    const isLast = isEnded(response.statusUpdate.status.state)
    return { type: 'status', ...decodeStatus(response.statusUpdate), generation: unknownGeneration, isLast }
  }
  if ('artifactUpdate' in response) {
    return { type: 'artifact', ...response.artifactUpdate, generation: unknownGeneration }
  }
  const outcome = decodeOutcome(response)
  return { ...outcome, isLast: outcome.type === 'message' || isEnded(outcome.task.status.state) }
}

/** LangGraph marks 1.0 objects by their `kind`, as 0.3 did, instead of a wrapper. */
function cleanResponse(response: unknown): unknown {
  if (!isObject(response)) return response
  const wrapper = wrapperOfKind.get(response.kind)
  const wrapped = wrapper === undefined ? response : { [wrapper]: response }
  if (isObject(wrapped.task)) return { ...wrapped, task: cleanTask(wrapped.task) }
  return isUnspecified(wrapped.statusUpdate) ? { ...wrapped, statusUpdate: cleanState(wrapped.statusUpdate) } : wrapped
}

/** A task without a state continues: its reader polls it again. The metadata keeps what the agent sent. */
function cleanState(wire: unknown): unknown {
  if (!isUnspecified(wire)) return wire
  const metadata = { ...(isObject(wire.metadata) && wire.metadata), 'a2a.state': 'TASK_STATE_UNSPECIFIED' }
  return { ...wire, status: { ...wire.status, state: 'TASK_STATE_SUBMITTED' }, metadata }
}

function isUnspecified(wire: unknown): wire is JsonObject & { readonly status: JsonObject } {
  if (!isObject(wire) || !isObject(wire.status)) return false
  const { state } = wire.status
  return state === 0 || state === 'TASK_STATE_UNSPECIFIED'
}

const wrapperOfKind: ReadonlyMap<unknown, string> = new Map([
  ['task', 'task'],
  ['message', 'message'],
  ['status-update', 'statusUpdate'],
  ['artifact-update', 'artifactUpdate'],
])

function cleanPage(page: unknown): unknown {
  return isObject(page) && Array.isArray(page.tasks) ? { ...page, tasks: page.tasks.map(cleanTask) } : page
}

/** Some agents keep messages without an id in the history: one of them must not make the task unreadable. */
function cleanTask(wire: unknown): unknown {
  const task = cleanState(wire)
  if (!isObject(task) || !Array.isArray(task.history)) return task
  const withId = (message: unknown, index: number) =>
    isObject(message) && !message.messageId && !message.message_id
      ? { ...message, messageId: `history-${index}` }
      : message
  return { ...task, history: task.history.map(withId) }
}

function decodeOutcome(response: Infer<typeof wire.SendMessageResponse>): Outcome {
  return 'task' in response
    ? { type: 'task', task: decodeTask(response.task) }
    : { type: 'message', message: response.message }
}

function decodeTask(task: Infer<typeof wire.Task>): Task {
  const { contextId = '', artifacts = [], history = [], ...rest } = decodeStatus(task)
  return { ...rest, contextId, artifacts, history, generation: unknownGeneration }
}

/** Decodes the status of a task or event, whose metadata holds the state that 1.0 does not have. */
function decodeStatus<T extends Pick<Task, 'status' | 'metadata'>>(wireObject: T): T {
  const { status } = wireObject
  const { state, metadata } = decodeState(wire.substitutes, { state: status.state, metadata: wireObject.metadata })
  return state === status.state ? wireObject : { ...wireObject, status: { ...status, state }, metadata }
}
