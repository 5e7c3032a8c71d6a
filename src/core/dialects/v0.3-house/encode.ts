import { defined, type JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Message, Task } from '../../protocol/model.ts'
import type { RequestOf, SendRequest, StreamOperation, TaskAddress } from '../../protocol/service.ts'
import type { ClientDialect, ServerDialect } from '../dialect.ts'
import * as v0_3 from '../v0.3/encode.ts'
import type { HouseSubscribeRequest } from './decode.ts'
import { isAsSent, isByReference, isToolResult } from './parts.ts'
import { toHouseWire, toStandard } from './translate.ts'

export const encodeResult: ServerDialect['encodeResult'] = {
  ...v0_3.encodeResult,
  sendMessage(outcome, { quirks }) {
    const named = outcome.type === 'task' ? { ...outcome, task: withId(outcome.task, quirks?.alias) } : outcome
    return toHouseWire(v0_3.encodeResult.sendMessage(toStandard(named)))
  },
  getTask: (task, address) => encodeTask(withId(task, aliasIn(address))),
  listTasks: (page) => toHouseWire(v0_3.encodeResult.listTasks(toStandard(page))),
  cancelTask: (task, address) => encodeTask(withId(task, aliasIn(address))),
}

export function encodeEvent(event: StreamEvent, request: RequestOf<StreamOperation>): readonly JsonObject[] {
  const { statusFirst }: Partial<HouseSubscribeRequest> = request
  const events = statusFirst && event.type === 'task' ? updatesOf(event) : [event]
  const id = 'message' in request ? request.quirks?.alias : aliasIn(request)
  return events
    .map((each) => toStandard(withEventId(each, id)))
    .flatMap(v0_3.encodeEvent)
    .map(toHouseWire)
}

export const encodeRequest: ClientDialect['encodeRequest'] = {
  ...v0_3.encodeRequest,
  sendMessage: (request) => encodeSend(v0_3.encodeRequest.sendMessage, request),
  streamMessage: (request) => encodeSend(v0_3.encodeRequest.streamMessage, request),
  subscribeToTask(address) {
    const { id, ...params } = v0_3.encodeRequest.subscribeToTask(address)
    return { taskId: address.taskId, ...params }
  },
}

export function encodeTask(task: Task): JsonObject {
  return toHouseWire(v0_3.encodeResult.getTask(toStandard(task)))
}

function aliasIn({ taskId, isAlias }: TaskAddress): string | undefined {
  return isAlias ? taskId : undefined
}

/** The task under the id by which its caller knows it. */
function withId(task: Task, id = task.id): Task {
  if (id === task.id) return task
  const rename = <M extends Message>(message: M): M => ({
    ...message,
    ...defined({ taskId: message.taskId === undefined ? undefined : id }),
  })
  const { status, history } = task
  const message = status.message && rename(status.message)
  return { ...task, id, status: { ...status, message }, history: history.map(rename) }
}

function withEventId(event: StreamEvent, id: string | undefined): StreamEvent {
  if (event.type === 'task') return { ...event, task: withId(event.task, id) }
  if (event.type === 'message' || id === undefined || id === event.taskId) return event
  if (event.type === 'artifact' || !event.status.message) return { ...event, taskId: id }
  return { ...event, taskId: id, status: { ...event.status, message: { ...event.status.message, taskId: id } } }
}

/** The updates that describe a task. The status comes again at the end if it is the last: clients stop reading there. */
function updatesOf({ task, isLast = false }: Extract<StreamEvent, { readonly type: 'task' }>): readonly StreamEvent[] {
  const { id: taskId, contextId, generation, status, artifacts, metadata } = task
  const address = { taskId, contextId, generation }
  const statusUpdate = { type: 'status', ...address, status, metadata } as const
  const artifactUpdates = artifacts.map((artifact) => ({ type: 'artifact', ...address, artifact }) as const)
  if (artifactUpdates.length === 0) return [{ ...statusUpdate, isLast }]
  const updates = [statusUpdate, ...artifactUpdates]
  return isLast ? [...updates, { ...statusUpdate, isLast }] : updates
}

function encodeSend(encode: (request: SendRequest) => JsonObject, request: SendRequest): JsonObject {
  return toHouseWire(encode(toStandard({ ...request, message: withReference(request) })))
}

/** House agents look for the task of a tool result among the references of the message. */
function withReference(request: SendRequest): Message {
  const { taskId = request.quirks?.alias, ...message } = request.message
  const { parts, referenceTaskIds = [] } = message
  if (isByReference(request)) return message
  if (taskId === undefined) return message
  if (isAsSent(request) || !parts.some(isToolResult)) return { ...message, taskId }
  return { ...message, taskId, referenceTaskIds: [taskId, ...referenceTaskIds.filter((id) => id !== taskId)] }
}
