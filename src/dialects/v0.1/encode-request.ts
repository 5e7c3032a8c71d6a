import type { JsonObject } from '../../protocol/model.ts'
import type { SendRequest, TaskAddress } from '../../protocol/service.ts'
import type { ClientDialect } from '../dialect.ts'
import { present } from '../filled.ts'
import { carried } from './carry.ts'
import { encodeMessage, encodePushConfig, encodeTaskPushConfig } from './encode-objects.ts'
import { missing } from './methods.ts'

export const encodeRequest: ClientDialect['encodeRequest'] = {
  ...missing,
  sendMessage: encodeSend,
  streamMessage: encodeSend,
  getTask: ({ historyLength, ...address }) =>
    present({ ...addressOf(address), historyLength: historyLength || undefined }),
  cancelTask: (address) => present(addressOf(address)),
  subscribeToTask(address) {
    const { historyLength } = carried(address.carry)
    return present({ ...addressOf(address), historyLength: historyLength || undefined })
  },
  createPushConfig: (config) => encodeTaskPushConfig(config),
  getPushConfig: (address) => present(addressOf(address)),
}

function addressOf({ taskId, metadata }: TaskAddress) {
  return { id: taskId, metadata }
}

function encodeSend({ alias, message, configuration = {}, metadata }: SendRequest): JsonObject {
  const { acceptedOutputModes, historyLength, push } = configuration
  return present({
    // A new task is named after the message that begins it, so that one sent again begins no other.
    id: alias ?? message.taskId ?? message.messageId,
    message: encodeMessage(message),
    sessionId: message.contextId,
    pushNotification: push && encodePushConfig(push),
    historyLength: historyLength || undefined,
    acceptedOutputModes: acceptedOutputModes?.length ? acceptedOutputModes : undefined,
    metadata,
  })
}
