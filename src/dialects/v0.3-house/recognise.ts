import type { JsonObject } from '../../protocol/model.ts'
import type { Operation } from '../../protocol/service.ts'
import type { Proposal } from '../dialect.ts'
import { isObject } from '../is-object.ts'
import { methods } from './methods.ts'

export function recognises({ method, params }: Proposal): boolean {
  return method === methods.getTask ? isByTaskId(params) : hasHouseMessage(params)
}

/** Whoever gets a task by `taskId` wants to follow it, if it is ready for a stream. */
export function operationFor({ method, params, acceptsStream }: Proposal): Operation | undefined {
  return method === methods.getTask && acceptsStream && isByTaskId(params) ? 'subscribeToTask' : undefined
}

/** Everybody else has it as `id`. */
export function isByTaskId(params: unknown): params is JsonObject {
  return isObject(params) && params.taskId !== undefined && params.id === undefined
}

/** Whether a sent message has what only the house has. */
export function hasHouseMessage(params: unknown): boolean {
  const message = isObject(params) ? (params.message ?? params) : undefined
  if (!isObject(message)) return false
  const { parts, inputRequest } = message
  return inputRequest !== undefined || (Array.isArray(parts) && parts.some(isToolPart))
}

function isToolPart(part: unknown): boolean {
  return isObject(part) && (part.kind === 'tool-use' || part.kind === 'tool-result')
}
