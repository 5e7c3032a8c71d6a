import { isObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { RequestOf, SendRequest, StreamOperation, SubscribeRequest } from '../../protocol/service.ts'
import { readParams, readResult } from '../codec.ts'
import type { ClientDialect, ServerDialect } from '../dialect.ts'
import { v0_3Client } from '../v0.3/client.ts'
import * as v0_3 from '../v0.3/requests.ts'
import { hasTaskIdOnly } from './methods.ts'
import { carryingReference, isToolResult } from './parts.ts'
import { fromStandard, StandardWire, StandardWireEvent } from './translate.ts'

export interface HouseSubscribeRequest extends SubscribeRequest {
  /** Whether the stream starts with the status instead of the task. */
  readonly statusFirst?: boolean
}

export const decodeRequest = createRequestDecoder(v0_3.decodeRequest)

/** Rejects params that are neither in the schema of 0.3 nor in that of the house. */
export const decodeRequestStrictly = createRequestDecoder(v0_3.decodeRequestStrictly)

/** Keeps streams open while the task waits for input. */
export function holdOnInput(decode: ServerDialect['decodeRequest']): ServerDialect['decodeRequest'] {
  return {
    ...decode,
    streamMessage: (params) => holding(decode.streamMessage(params)),
    subscribeToTask: (params) => holding(decode.subscribeToTask(params)),
  }
}

function holding<R extends RequestOf<StreamOperation>>(request: R): R {
  return { ...request, quirks: { ...request.quirks, holdOnInput: true } }
}

const standard = v0_3Client.decodeResult

export const decodeResult: ClientDialect['decodeResult'] = {
  ...standard,
  sendMessage: (result, request) =>
    fromStandard(standard.sendMessage(readResult(StandardWire, unwrap(result)), request)),
  getTask: (result, request) => fromStandard(standard.getTask(readResult(StandardWire, result), request)),
  listTasks: (result, request) => fromStandard(standard.listTasks(readResult(StandardWire, result), request)),
  cancelTask: (result, request) => fromStandard(standard.cancelTask(readResult(StandardWire, result), request)),
}

export function decodeEvent(event: unknown, request: RequestOf<StreamOperation>): StreamEvent {
  return fromStandard(v0_3Client.decodeEvent(readResult(StandardWireEvent, unwrap(event)), request))
}

function createRequestDecoder(decode: ServerDialect['decodeRequest']): ServerDialect['decodeRequest'] {
  const decodeSend = (params: unknown, operation: 'sendMessage' | 'streamMessage'): SendRequest => {
    const request = fromStandard(decode[operation](readParams(StandardWire, params)))
    const addressed = addressToolResult(request)
    return { ...addressed, traceMetadata: true, quirks: { ...addressed.quirks, failuresAsErrors: true } }
  }
  return {
    ...decode,
    sendMessage: (params) => decodeSend(params, 'sendMessage'),
    streamMessage: (params) => decodeSend(params, 'streamMessage'),
    getTask: (params) => decode.getTask(withId(params)),
    subscribeToTask(params): HouseSubscribeRequest {
      return { ...decode.subscribeToTask(withId(params)), statusFirst: hasTaskIdOnly(params), traceMetadata: true }
    },
  }
}

/** A tool result answers the task that its message refers to. In 0.3, such a message creates a new task. */
function addressToolResult(request: SendRequest): SendRequest {
  const { message, carry } = request
  const { taskId, parts, referenceTaskIds: references = [] } = message
  const [first] = references
  if (taskId !== undefined || first === undefined || !parts.some(isToolResult)) return request
  return {
    ...request,
    message: { ...message, taskId: first },
    carry: carryingReference(carry),
    ...(references.length > 1 && { quirks: { mayAnswer: references } }),
  }
}

function withId(params: unknown): unknown {
  return hasTaskIdOnly(params) ? { ...params, id: params.taskId } : params
}

/** Over REST, some agents wrap their answers, as JSON-RPC does or as the text of 0.3 can be read. */
function unwrap(wire: unknown): unknown {
  if (!isObject(wire) || wire.kind !== undefined) return wire
  return wire.result ?? wire.task ?? wire.message ?? wire.statusUpdate ?? wire.artifactUpdate ?? wire
}
