import type { SendRequest, SubscribeRequest } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import { readParams } from '../read-params.ts'
import * as v0_3 from '../v0.3/decode.ts'
import { carryingReference } from './carry.ts'
import { isToolResult } from './parts.ts'
import { isByTaskId } from './recognise.ts'
import { lift, Standard } from './standard.ts'

export const decodeRequest = requestDecoder(v0_3.decodeRequest)

/** Takes nothing that neither the schema of 0.3 nor the house has. */
export const decodeRequestStrictly = requestDecoder(v0_3.decodeRequestStrictly)

/** Who follows a task by getting it expects no task, but how it stands. */
export interface HouseSubscribeRequest extends SubscribeRequest {
  readonly statusFirst?: boolean
}

function requestDecoder(standard: ServerDialect['decodeRequest']): ServerDialect['decodeRequest'] {
  return {
    ...standard,
    sendMessage: (params) => traced(addressed(lift(standard.sendMessage(readParams(Standard, params))))),
    streamMessage: (params) => traced(addressed(lift(standard.streamMessage(readParams(Standard, params))))),
    getTask: (params) => standard.getTask(withId(params)),
    subscribeToTask(params): HouseSubscribeRequest {
      return { ...standard.subscribeToTask(withId(params)), statusFirst: isByTaskId(params) }
    },
  }
}

/** The same for readers whose streams go on while the task waits for them. */
export function holding(decode: ServerDialect['decodeRequest']): ServerDialect['decodeRequest'] {
  return {
    ...decode,
    streamMessage: (params) => ({ ...decode.streamMessage(params), holdOnInput: true }),
    subscribeToTask: (params) => ({ ...decode.subscribeToTask(params), holdOnInput: true }),
  }
}

/** Its events say where they are in their trace. */
function traced(request: SendRequest): SendRequest {
  return { ...request, tellsTrace: true }
}

function withId(params: unknown): unknown {
  return isByTaskId(params) ? { ...params, id: params.taskId } : params
}

/** Elsewhere a message that only refers to a task begins a new one. Here, the result of a tool answers that task. */
function addressed(request: SendRequest): SendRequest {
  const { message, carry } = request
  const { taskId, parts, referenceTaskIds: references = [] } = message
  const [first] = references
  if (taskId !== undefined || first === undefined || !parts.some(isToolResult)) return request
  return {
    ...request,
    message: { ...message, taskId: first },
    carry: carryingReference(carry),
    ...(references.length > 1 && { mayAnswer: references }),
  }
}
