import type { JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Message, Task } from '../../protocol/model.ts'
import type { RequestOf, SendRequest, StreamOperation } from '../../protocol/service.ts'
import type { ClientDialect, ServerDialect } from '../dialect.ts'
import * as v0_3 from '../v0.3/encode.ts'
import type { HouseSubscribeRequest } from './decode.ts'
import { isAsSent, isByReference, isToolResult } from './parts.ts'
import { toHouse, toStandard } from './translate.ts'

const standard = v0_3.encodeResult

const standardEncodeRequest = v0_3.encodeRequest

export const encodeResult: ServerDialect['encodeResult'] = {
  ...standard,
  sendMessage: (outcome) => toHouse(standard.sendMessage(toStandard(outcome))),
  getTask: encodeTask,
  listTasks: (page) => toHouse(standard.listTasks(toStandard(page))),
  cancelTask: encodeTask,
}

export function encodeEvent(event: StreamEvent, request: RequestOf<StreamOperation>): readonly JsonObject[] {
  const { statusFirst }: Partial<HouseSubscribeRequest> = request
  const told = statusFirst && event.type === 'task' ? changesTo(event) : [event]
  return told.map(toStandard).flatMap(v0_3.encodeEvent).map(toHouse)
}

export const encodeRequest: ClientDialect['encodeRequest'] = {
  ...standardEncodeRequest,
  sendMessage: (request) => encodeSend(standardEncodeRequest.sendMessage, request),
  streamMessage: (request) => encodeSend(standardEncodeRequest.streamMessage, request),
  subscribeToTask(address) {
    const { id, ...params } = standardEncodeRequest.subscribeToTask(address)
    return { taskId: address.taskId, ...params }
  },
}

export function encodeTask(task: Task): JsonObject {
  return toHouse(standard.getTask(toStandard(task)))
}

/** The changes by which a reader comes to know a task. Nobody reads on behind a status that is the last. */
function changesTo({ task, isLast = false }: Extract<StreamEvent, { readonly type: 'task' }>): readonly StreamEvent[] {
  const { id: taskId, contextId, generation, status, artifacts, metadata } = task
  const address = { taskId, contextId, generation }
  const state = { type: 'status', ...address, status, metadata } as const
  const chunks = artifacts.map((artifact) => ({ type: 'artifact', ...address, artifact }) as const)
  if (chunks.length === 0) return [{ ...state, isLast }]
  return isLast ? [state, ...chunks, { ...state, isLast }] : [state, ...chunks]
}

function encodeSend(encode: (request: SendRequest) => JsonObject, request: SendRequest): JsonObject {
  return toHouse(encode(toStandard({ ...request, message: referring(request) })))
}

/** Agents of the house find the task that a result is for among those that the message refers to. */
function referring(request: SendRequest): Message {
  const { taskId, ...message } = request.message
  const { parts, referenceTaskIds = [] } = message
  if (isByReference(request)) return message
  if (taskId === undefined || isAsSent(request) || !parts.some(isToolResult)) return request.message
  return { ...message, taskId, referenceTaskIds: [taskId, ...referenceTaskIds.filter((id) => id !== taskId)] }
}
