import { defined } from '../../base/json.ts'
import type { SendRequest, StreamQuirks, TaskAddress } from '../../protocol/service.ts'
import type { Infer } from '../../schema/schema.ts'
import { literal } from '../../schema/unions.ts'
import { implicit, list, object, optional, string, withHint } from '../../schema/values.ts'
import { id, maxListItems, readParams } from '../codec.ts'
import type { ServerDialect } from '../dialect.ts'
import { type LenientRead, lenientReader } from '../legacy-codec.ts'
import { historyLength, maxParts } from '../request-fields.ts'
import { decodePushConfig } from './decode.ts'
import { cleanSendParams, cleanTaskParams } from './lenient.ts'
import { missingOperations } from './methods.ts'
import { decodePart, toCarry } from './parts.ts'
import { metadata, Part, PushConfig, TaskPushConfig } from './schemas.ts'

// The requests of A2A 0.1. Only servers read them, so they are not part of the client.

/** The time after which a send returns the task in its current state, in milliseconds. */
const sendTimeout = 30_000

/** The hint for callers that mix later versions of A2A into 0.1. */
const partHint = 'in 0.1 write {"type": "text", "text": …}, {"type": "file", "file": …} or {"type": "data", "data": …}'

const nonEmptyStrings = list(string({ min: 1 }), { max: maxListItems })

/** A `historyLength` of 0 or none requests no history. */
export const SendParams = object({
  id,
  sessionId: implicit(id),
  // Callers have the role of the user.
  message: object({
    role: withHint(literal('user'), hintForRole),
    parts: list(withHint(Part, hintForPart), { min: 1, max: maxParts }),
    // Not in the schema. 0.1 has no other way to name the extensions that an agent requires.
    extensions: implicit(nonEmptyStrings),
    metadata,
  }),
  pushNotification: optional(PushConfig),
  historyLength: implicit(historyLength),
  // Not in the schema, but clients send it.
  acceptedOutputModes: implicit(nonEmptyStrings),
  metadata,
})

/** To get a task, or to subscribe to it, which ignores `historyLength`. */
export const TaskQueryParams = object({ id, historyLength: implicit(historyLength), metadata })

/** To cancel a task, or to get its push config. */
export const TaskParams = object({ id, metadata })

export const decodeRequest = createRequestDecoder(lenientReader(readParams))

/** Rejects params that break the schema. */
export const decodeRequestStrictly = createRequestDecoder(readParams)

function createRequestDecoder(read: LenientRead): ServerDialect['decodeRequest'] {
  const decodeSend = (params: unknown, blockFor?: number, quirks?: StreamQuirks): SendRequest => {
    const request = read(SendParams, params, cleanSendParams)
    const { sessionId, message, pushNotification, historyLength = 0, acceptedOutputModes } = request
    return {
      quirks: { ...quirks, alias: request.id },
      message: defined({
        // 0.1 messages have no ids: a repeated message cannot be distinguished from a new one with the same content.
        messageId: crypto.randomUUID(),
        role: message.role,
        parts: message.parts.map(decodePart),
        contextId: sessionId,
        metadata: message.metadata,
        extensions: message.extensions,
      }),
      configuration: {
        historyLength,
        acceptedOutputModes,
        push: pushNotification && decodePushConfig(pushNotification),
        blockFor,
      },
      metadata: request.metadata,
    }
  }
  const readTask = (params: unknown) => toAddress(read(TaskParams, params, cleanTaskParams))
  const readQuery = (params: unknown) => read(TaskQueryParams, params, cleanTaskParams)
  return {
    ...missingOperations,
    sendMessage: (params) => decodeSend(params, sendTimeout),
    // 0.1 has `input-required` instead of `auth-required`, and its streams end there.
    streamMessage: (params) => decodeSend(params, undefined, { endOnAuth: true }),
    getTask(params) {
      const { historyLength = 0, ...address } = readQuery(params)
      return { ...toAddress(address), historyLength }
    },
    cancelTask: readTask,
    subscribeToTask(params) {
      const { historyLength, ...address } = readQuery(params)
      const carry = historyLength === undefined ? {} : toCarry({ historyLength })
      return { ...toAddress(address), includeEnded: true, quirks: { endOnAuth: true }, ...carry }
    },
    createPushConfig(params) {
      const request = readParams(TaskPushConfig, params)
      return { ...toAddress(request), ...decodePushConfig(request.pushNotificationConfig) }
    },
    getPushConfig: (params) => ({ ...readTask(params), mayBeMissing: true }),
  }
}

/** Callers choose the ids of their tasks. */
function toAddress({ id, metadata }: Infer<typeof TaskParams>): TaskAddress {
  return metadata === undefined ? { taskId: id, isAlias: true } : { taskId: id, isAlias: true, metadata }
}

function hintForRole(value: unknown): string | undefined {
  if (value !== 'ROLE_USER' && value !== 'ROLE_AGENT') return undefined
  return `"${value}" looks like A2A 1.0; in 0.1 write "${value.slice(5).toLowerCase()}"`
}

function hintForPart(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || 'type' in value) return undefined
  if ('kind' in value) return `a part with "kind" looks like A2A 0.2 or 0.3; ${partHint}`
  if ('text' in value || 'raw' in value || 'url' in value || 'data' in value) {
    return `a part without "type" looks like A2A 1.0; ${partHint}`
  }
  return undefined
}
