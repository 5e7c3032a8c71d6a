import type { StreamEvent } from '../../protocol/events.ts'
import type { JsonObject, Task } from '../../protocol/model.ts'
import type { RequestOf, ServerDialect, StreamOperation } from '../dialect.ts'
import * as v0_3 from '../v0.3/encode.ts'
import type { HouseSubscribeRequest } from './decode.ts'
import { lower, toHouse } from './standard.ts'

const standard = v0_3.encodeResult

export const encodeResult: ServerDialect['encodeResult'] = {
  ...standard,
  sendMessage: (outcome) => toHouse(standard.sendMessage(lower(outcome))),
  getTask: encodeTask,
  listTasks: (page) => toHouse(standard.listTasks(lower(page))),
  cancelTask: encodeTask,
}

export function encodeTask(task: Task): JsonObject {
  return toHouse(standard.getTask(lower(task)))
}

export function encodeEvent(event: StreamEvent, request: RequestOf<StreamOperation>): readonly JsonObject[] {
  const { statusFirst }: Partial<HouseSubscribeRequest> = request
  const told = statusFirst && event.type === 'task' ? changesTo(event) : [event]
  return told.map(lower).flatMap(v0_3.encodeEvent).map(toHouse)
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
