import type { SendRequest, TaskAddress } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import { type LenientRead, leniently } from '../leniently.ts'
import { readParams } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import { carrying } from './carry.ts'
import { decodePushConfig } from './decode-push.ts'
import { cleanSendParams, cleanTaskParams } from './lenient.ts'
import { missing } from './methods.ts'
import { decodePart } from './parts.ts'
import { TaskPushConfig } from './push-schemas.ts'
import * as wire from './request-schemas.ts'

export const decodeRequest = requestDecoder(leniently(readParams))

/** Takes nothing that is not in the schema. */
export const decodeRequestStrictly = requestDecoder(readParams)

/** Milliseconds that a send may take: 0.1 promises the task as it is then, at rest or not. */
const patience = 30_000

function requestDecoder(read: LenientRead): ServerDialect['decodeRequest'] {
  const decodeSend = (params: unknown, blockFor?: number): SendRequest => {
    const request = read(wire.SendParams, params, cleanSendParams)
    const { sessionId, message, pushNotification, historyLength = 0, acceptedOutputModes } = request
    return {
      alias: request.id,
      message: {
        // 0.1 cannot tell a message that is sent twice from two that say the same: each is a new one.
        messageId: crypto.randomUUID(),
        role: message.role,
        parts: message.parts.map(decodePart),
        contextId: sessionId,
        metadata: message.metadata,
      },
      configuration: {
        historyLength,
        acceptedOutputModes,
        push: pushNotification && decodePushConfig(pushNotification),
        blockFor,
      },
      metadata: request.metadata,
    }
  }
  const readTask = (params: unknown) => aliased(read(wire.TaskParams, params, cleanTaskParams))
  const readQuery = (params: unknown) => read(wire.TaskQueryParams, params, cleanTaskParams)
  return {
    ...missing,
    sendMessage: (params) => decodeSend(params, patience),
    // Its state for credentials is the one for input, at which streams end.
    streamMessage: (params) => ({ ...decodeSend(params), endOnAuth: true }),
    getTask(params) {
      const { historyLength = 0, ...address } = readQuery(params)
      return { ...aliased(address), historyLength }
    },
    cancelTask: readTask,
    subscribeToTask(params) {
      const { historyLength, ...address } = readQuery(params)
      const carry = historyLength === undefined ? {} : carrying({ historyLength })
      return { ...aliased(address), tellEnded: true, endOnAuth: true, ...carry }
    },
    createPushConfig(params) {
      const request = readParams(TaskPushConfig, params)
      return { ...aliased(request), ...decodePushConfig(request.pushNotificationConfig) }
    },
    getPushConfig: readTask,
  }
}

/** The caller chose the id. */
function aliased({ id, metadata }: TypeOf<typeof wire.TaskParams>): TaskAddress {
  return metadata === undefined ? { taskId: id, isAlias: true } : { taskId: id, isAlias: true, metadata }
}
