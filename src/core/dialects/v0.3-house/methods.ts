import { isObject, type JsonObject } from '../../base/json.ts'
import type { Operation } from '../../protocol/service.ts'
import type { CallFeatures, Dialect, RestServerBinding } from '../dialect.ts'
import * as v0_3 from '../v0.3/methods.ts'

/** The server supports the methods of 0.3. */
export const { methods, operations } = v0_3

/** House agents have no method to subscribe to a task: a client gets the task as a stream. */
export const clientMethods: Dialect['methods'] = { ...methods, subscribeToTask: methods.getTask }

export const restServerBinding: RestServerBinding = {
  ...v0_3.restServerBinding,
  recognises: ({ body }) => hasHouseMessage(body),
}

export function recognises({ method, params }: CallFeatures): boolean {
  return method === methods.getTask ? hasTaskIdOnly(params) : hasHouseMessage(params)
}

/** A client that gets a task by `taskId` and accepts a stream subscribes to it. */
export function operationFor({ method, params, acceptsStream }: CallFeatures): Operation | undefined {
  return method === methods.getTask && acceptsStream && hasTaskIdOnly(params) ? 'subscribeToTask' : undefined
}

/** Whether the task is addressed by `taskId`. Other dialects use `id`. */
export function hasTaskIdOnly(params: unknown): params is JsonObject {
  return isObject(params) && params.taskId !== undefined && params.id === undefined
}

/** Whether a message has parts or members that only the house has. */
function hasHouseMessage(params: unknown): boolean {
  const message = isObject(params) ? (params.message ?? params) : undefined
  if (!isObject(message)) return false
  const { parts, inputRequest } = message
  return inputRequest !== undefined || (Array.isArray(parts) && parts.some(isToolPart))
}

function isToolPart(part: unknown): boolean {
  return isObject(part) && (part.kind === 'tool-use' || part.kind === 'tool-result')
}
