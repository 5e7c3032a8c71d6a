import type { SendRequest } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import { readParams } from '../read-params.ts'
import type { Shape } from '../shape.ts'
import { decodePushConfig } from './decode-objects.ts'
import { type Clean, cleanSendParams, cleanTaskParams } from './lenient.ts'
import { beside } from './marks.ts'
import { missing } from './methods.ts'
import { decodePart } from './parts.ts'
import * as wire from './request-schemas.ts'
import { TaskPushConfig } from './schemas.ts'

type Read = <T>(shape: Shape<T>, params: unknown, clean: Clean) => T

/** Only what cannot be read as it is gets cleaned, so that proper callers pay nothing for the others. */
export const decodeRequest = requestDecoder((shape, params, clean) => {
  try {
    return readParams(shape, params)
  } catch {
    return readParams(shape, clean(params))
  }
})

/** Takes nothing that is not in the schema. */
export const decodeRequestStrictly = requestDecoder(readParams)

/** Milliseconds that a send may take: 0.1 promises the task as it is then, at rest or not. */
const blockFor = 30_000

function requestDecoder(read: Read): ServerDialect['decodeRequest'] {
  const decodeSend = (params: unknown): SendRequest => {
    const request = read(wire.SendParams, params, cleanSendParams)
    const { sessionId, message, pushNotification, historyLength = 0, acceptedOutputModes } = request
    return {
      alias: request.id,
      message: {
        // 0.1 cannot tell a message that is sent twice from two that say the same: each is a new one.
        messageId: crypto.randomUUID(),
        role: message.role,
        parts: message.parts.map(decodePart),
        ...(sessionId !== undefined && { contextId: sessionId }),
        ...beside(message.metadata),
      },
      configuration: {
        historyLength,
        ...(acceptedOutputModes !== undefined && { acceptedOutputModes }),
        ...(pushNotification !== undefined && { push: decodePushConfig(pushNotification) }),
      },
      ...beside(request.metadata),
    }
  }
  const readTask = (params: unknown) => aliased(read(wire.TaskParams, params, cleanTaskParams))
  return {
    ...missing,
    sendMessage(params) {
      const request = decodeSend(params)
      return { ...request, configuration: { ...request.configuration, blockFor } }
    },
    // Its state for credentials is the one for input, at which streams end.
    streamMessage: (params) => ({ ...decodeSend(params), endOnAuth: true }),
    getTask(params) {
      const request = read(wire.GetTaskParams, params, cleanTaskParams)
      return { ...aliased(request), historyLength: request.historyLength ?? 0 }
    },
    cancelTask(params) {
      const request = read(wire.CancelTaskParams, params, cleanTaskParams)
      return { ...aliased(request), ...beside(request.metadata) }
    },
    subscribeToTask: (params) => ({ ...readTask(params), tellEnded: true, endOnAuth: true }),
    createPushConfig(params) {
      const request = readParams(TaskPushConfig, params)
      return { ...aliased(request), ...decodePushConfig(request.pushNotificationConfig) }
    },
    getPushConfig: readTask,
  }
}

/** The caller chose the id. */
function aliased({ id }: { readonly id: string }): { readonly taskId: string; readonly isAlias: true } {
  return { taskId: id, isAlias: true }
}
