import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Operation, RequestOf, SendRequest, StreamOperation, SubscribeRequest } from '../../protocol/service.ts'
import type { CallFeatures, ClientDialect, Dialect, ServerDialect } from '../dialect.ts'
import { readParams, readResult } from '../read.ts'
import { v0_3Client } from '../v0.3/client.ts'
import * as v0_3 from '../v0.3/decode.ts'
import * as v0_3Methods from '../v0.3/methods.ts'
import { carryingReference, isToolResult } from './parts.ts'
import { fromStandard, StandardWire, StandardWireEvent } from './translate.ts'

const { decodeResult: standard, decodeEvent: decodeStandard } = v0_3Client

/** A server takes the methods of 0.3. */
export const { methods, operations } = v0_3Methods

/** An agent of the house knows no other way to follow a task. */
export const clientMethods: Dialect['methods'] = { ...methods, subscribeToTask: methods.getTask }

export function recognises({ method, params }: CallFeatures): boolean {
  return method === methods.getTask ? isByTaskId(params) : hasHouseMessage(params)
}

/** Whoever gets a task by `taskId` wants to follow it, if it is ready for a stream. */
export function operationFor({ method, params, acceptsStream }: CallFeatures): Operation | undefined {
  return method === methods.getTask && acceptsStream && isByTaskId(params) ? 'subscribeToTask' : undefined
}

export const decodeRequest = requestDecoder(v0_3.decodeRequest)

/** Takes nothing that neither the schema of 0.3 nor the house has. */
export const decodeRequestStrictly = requestDecoder(v0_3.decodeRequestStrictly)

/** The same for readers whose streams go on while the task waits for them. */
export function holding(decode: ServerDialect['decodeRequest']): ServerDialect['decodeRequest'] {
  return {
    ...decode,
    streamMessage: (params) => ({ ...decode.streamMessage(params), holdOnInput: true }),
    subscribeToTask: (params) => ({ ...decode.subscribeToTask(params), holdOnInput: true }),
  }
}

/** Whether a sent message has what only the house has. */
export function hasHouseMessage(params: unknown): boolean {
  const message = isObject(params) ? (params.message ?? params) : undefined
  if (!isObject(message)) return false
  const { parts, inputRequest } = message
  return inputRequest !== undefined || (Array.isArray(parts) && parts.some(isToolPart))
}

/** Who follows a task by getting it expects no task, but how it stands. */
export interface HouseSubscribeRequest extends SubscribeRequest {
  readonly statusFirst?: boolean
}

export const decodeResult: ClientDialect['decodeResult'] = {
  ...standard,
  sendMessage: (result, request) =>
    fromStandard(standard.sendMessage(readResult(StandardWire, unwrapped(result)), request)),
  getTask: (result, request) => fromStandard(standard.getTask(readResult(StandardWire, result), request)),
  listTasks: (result, request) => fromStandard(standard.listTasks(readResult(StandardWire, result), request)),
  cancelTask: (result, request) => fromStandard(standard.cancelTask(readResult(StandardWire, result), request)),
}

export function decodeEvent(event: unknown, request: RequestOf<StreamOperation>): StreamEvent {
  return fromStandard(decodeStandard(readResult(StandardWireEvent, unwrapped(event)), request))
}

/** Everybody else has it as `id`. */
function isByTaskId(params: unknown): params is JsonObject {
  return isObject(params) && params.taskId !== undefined && params.id === undefined
}

function isToolPart(part: unknown): boolean {
  return isObject(part) && (part.kind === 'tool-use' || part.kind === 'tool-result')
}

function requestDecoder(standard: ServerDialect['decodeRequest']): ServerDialect['decodeRequest'] {
  return {
    ...standard,
    sendMessage: (params) => traced(addressed(fromStandard(standard.sendMessage(readParams(StandardWire, params))))),
    streamMessage: (params) =>
      traced(addressed(fromStandard(standard.streamMessage(readParams(StandardWire, params))))),
    getTask: (params) => standard.getTask(withId(params)),
    subscribeToTask(params): HouseSubscribeRequest {
      return { ...standard.subscribeToTask(withId(params)), statusFirst: isByTaskId(params) }
    },
  }
}

/** Its events say where they are in their trace. */
function traced(request: SendRequest): SendRequest {
  return { ...request, traceMetadata: true }
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

function withId(params: unknown): unknown {
  return isByTaskId(params) ? { ...params, id: params.taskId } : params
}

/** Over REST some wrap what they answer: as JSON-RPC does, or as the text of 0.3 has it. */
function unwrapped(wire: unknown): unknown {
  if (!isObject(wire) || wire.kind !== undefined) return wire
  return wire.result ?? wire.task ?? wire.message ?? wire.statusUpdate ?? wire.artifactUpdate ?? wire
}
