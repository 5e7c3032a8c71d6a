import { defined, isObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { RequestOf, SendRequest, StreamOperation, SubscribeRequest, TaskAddress } from '../../protocol/service.ts'
import { readParams, readResult } from '../codec.ts'
import type { ClientDialect, ServerDialect } from '../dialect.ts'
import { v0_3Client } from '../v0.3/client.ts'
import { hasTaskIdOnly } from './methods.ts'
import { carryingReference, isToolResult } from './parts.ts'
import { fromStandard, StandardWire, StandardWireEvent } from './translate.ts'

export interface HouseSubscribeRequest extends SubscribeRequest {
  /** Whether the stream starts with the status instead of the task. */
  readonly statusFirst?: boolean
}

export interface RequestOptions {
  readonly holdStreamOnInput?: boolean
  readonly ownTaskIds?: boolean
  readonly alwaysTask?: boolean
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

/** Reads requests by a decoder of 0.3, which may reject what is neither in its schema nor in that of the house. */
export function createRequestDecoder(
  decode: ServerDialect['decodeRequest'],
  { holdStreamOnInput: holdOnInput = true, ownTaskIds = true, alwaysTask = true }: RequestOptions = {},
): ServerDialect['decodeRequest'] {
  const decodeSend = (params: unknown, operation: 'sendMessage' | 'streamMessage'): SendRequest => {
    const request = addressToolResult(fromStandard(decode[operation](readParams(StandardWire, params))))
    const quirks = { ...request.quirks, failuresAsErrors: true, alwaysTask }
    const sent = {
      ...request,
      traceMetadata: true,
      quirks: operation === 'sendMessage' ? quirks : { ...quirks, holdOnInput },
    }
    return ownTaskIds ? withOwnTaskId(sent) : sent
  }
  const addressed = <R extends TaskAddress>(request: R): R => (ownTaskIds ? { ...request, isAlias: true } : request)
  return {
    ...decode,
    sendMessage: (params) => decodeSend(params, 'sendMessage'),
    streamMessage: (params) => decodeSend(params, 'streamMessage'),
    getTask: (params) => addressed(decode.getTask(withId(params))),
    cancelTask: (params) => addressed(decode.cancelTask(params)),
    subscribeToTask(params): HouseSubscribeRequest {
      const request = addressed(decode.subscribeToTask(withId(params)))
      return { ...request, statusFirst: hasTaskIdOnly(params), traceMetadata: true, quirks: { holdOnInput } }
    },
    createPushConfig(params) {
      const { taskId, ...config } = decode.createPushConfig(params)
      return taskId === undefined ? config : addressed({ ...config, taskId })
    },
    getPushConfig: (params) => addressed(decode.getPushConfig(params)),
    listPushConfigs: (params) => addressed(decode.listPushConfigs(params)),
    deletePushConfig: (params) => addressed(decode.deletePushConfig(params)),
  }
}

/** The task of a message is continued, or created under the caller's id. A tool result creates none. */
function withOwnTaskId(request: SendRequest): SendRequest {
  const { taskId: alias, ...message } = request.message
  if (alias === undefined || message.parts.some(isToolResult)) return request
  return { ...request, message, quirks: { ...request.quirks, alias } }
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
    ...defined({ quirks: references.length > 1 ? { mayAnswer: references } : undefined }),
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
