import type { JsonObject, Message } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import type { ClientDialect } from '../dialect.ts'
import * as v0_3 from '../v0.3/encode-request.ts'
import { isAsSent, isByReference } from './carry.ts'
import { isToolResult } from './parts.ts'
import { lower, toHouse } from './standard.ts'

const standard = v0_3.encodeRequest

export const encodeRequest: ClientDialect['encodeRequest'] = {
  ...standard,
  sendMessage: (request) => encodeSend(standard.sendMessage, request),
  streamMessage: (request) => encodeSend(standard.streamMessage, request),
  subscribeToTask(address) {
    const { id, ...params } = standard.subscribeToTask(address)
    return { taskId: address.taskId, ...params }
  },
}

function encodeSend(encode: (request: SendRequest) => JsonObject, request: SendRequest): JsonObject {
  return toHouse(encode(lower({ ...request, message: referring(request) })))
}

/** Agents of the house find the task that a result is for among those that the message refers to. */
function referring(request: SendRequest): Message {
  const { taskId, ...message } = request.message
  const { parts, referenceTaskIds = [] } = message
  if (isByReference(request)) return message
  if (taskId === undefined || isAsSent(request) || !parts.some(isToolResult)) return request.message
  return { ...message, taskId, referenceTaskIds: [taskId, ...referenceTaskIds.filter((id) => id !== taskId)] }
}
