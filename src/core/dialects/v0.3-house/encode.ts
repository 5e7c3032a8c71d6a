import type { JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Message, Task } from '../../protocol/model.ts'
import type { RequestOf, SendRequest, StreamOperation } from '../../protocol/service.ts'
import type { ClientDialect, ServerDialect } from '../dialect.ts'
import * as v0_3 from '../v0.3/encode.ts'
import type { HouseSubscribeRequest } from './decode.ts'
import { isAsSent, isByReference, isToolResult } from './parts.ts'
import { toHouseWire, toStandard } from './translate.ts'

export const encodeResult: ServerDialect['encodeResult'] = {
  ...v0_3.encodeResult,
  sendMessage: (outcome) => toHouseWire(v0_3.encodeResult.sendMessage(toStandard(outcome))),
  getTask: encodeTask,
  listTasks: (page) => toHouseWire(v0_3.encodeResult.listTasks(toStandard(page))),
  cancelTask: encodeTask,
}

export function encodeEvent(event: StreamEvent, request: RequestOf<StreamOperation>): readonly JsonObject[] {
  const { statusFirst }: Partial<HouseSubscribeRequest> = request
  const events = statusFirst && event.type === 'task' ? updatesOf(event) : [event]
  return events.map(toStandard).flatMap(v0_3.encodeEvent).map(toHouseWire)
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
  const { taskId, ...message } = request.message
  const { parts, referenceTaskIds = [] } = message
  if (isByReference(request)) return message
  if (taskId === undefined || isAsSent(request) || !parts.some(isToolResult)) return request.message
  return { ...message, taskId, referenceTaskIds: [taskId, ...referenceTaskIds.filter((id) => id !== taskId)] }
}
