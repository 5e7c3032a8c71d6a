import type { JsonObject } from '../../protocol/model.ts'
import type { SendRequest, TaskAddress } from '../../protocol/service.ts'
import type { ClientDialect } from '../dialect.ts'
import type { Draft } from '../draft.ts'
import { carried } from './carry.ts'
import { encodeMessage, encodePushConfig, encodeTaskPushConfig } from './encode-objects.ts'
import { missing } from './methods.ts'

export const encodeRequest: ClientDialect['encodeRequest'] = {
  ...missing,
  sendMessage: encodeSend,
  streamMessage: encodeSend,
  getTask({ historyLength, ...address }) {
    const wire = draftAddress(address)
    if (historyLength) wire.historyLength = historyLength
    return wire
  },
  cancelTask: draftAddress,
  subscribeToTask(address) {
    const wire = draftAddress(address)
    const { historyLength } = carried(address.carry)
    if (historyLength) wire.historyLength = historyLength
    return wire
  },
  createPushConfig: (config) => encodeTaskPushConfig(config),
  getPushConfig: draftAddress,
}

function draftAddress({ taskId, metadata }: TaskAddress): Draft {
  const wire: Draft = { id: taskId }
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

function encodeSend({ alias, message, configuration = {}, metadata }: SendRequest): JsonObject {
  const { acceptedOutputModes, historyLength, push } = configuration
  const wire: Draft = {
    // A new task is named after the message that begins it, so that one sent again begins no other.
    id: alias ?? message.taskId ?? message.messageId,
    message: encodeMessage(message),
  }
  if (message.contextId !== undefined) wire.sessionId = message.contextId
  if (push !== undefined) wire.pushNotification = encodePushConfig(push)
  if (historyLength) wire.historyLength = historyLength
  if (acceptedOutputModes?.length) wire.acceptedOutputModes = acceptedOutputModes
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}
