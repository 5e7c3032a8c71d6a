import { defined } from '../../base/json.ts'
import type * as service from '../../protocol/service.ts'
import { type Infer, type Schema, wrongValue } from '../../schema/schema.ts'
import { literal, taggedAs } from '../../schema/unions.ts'
import { boolean, list, object, optional, string, withHint } from '../../schema/values.ts'
import { id, readParams } from '../codec.ts'
import type { ServerDialect } from '../dialect.ts'
import { type LenientRead, lenientReader } from '../legacy-codec.ts'
import { historyLength, maxParts, pageSize } from '../request-fields.ts'
import { decodeMessage, decodePushConfig } from './decode.ts'
import { cleanSendParams, cleanTaskParams } from './lenient.ts'
import { toCarry } from './parts.ts'
import { messageFields, metadata, nonEmptyStrings, Part, PushConfig, State, TaskPushConfig } from './schemas.ts'

// The requests of A2A 0.3 in its JSON form. Only servers read them, so they are not part of the client.

/** The hint for callers that mix other versions of A2A into 0.3. */
const partHint = 'in 0.3 write {"kind": "text", "text": …}, {"kind": "file", "file": …} or {"kind": "data", "data": …}'

/** The last time with a year of four digits. */
const maxTime = Date.parse('9999-12-31T23:59:59.999Z')

const SentMessage = taggedAs(
  'kind',
  'message',
  object({
    ...messageFields,
    role: withHint(literal('user'), hintForRole),
    parts: list(withHint(Part, hintForPart), { min: 1, max: maxParts }),
  }),
)

const SendConfiguration = object({
  acceptedOutputModes: optional(nonEmptyStrings),
  blocking: optional(boolean()),
  historyLength: optional(historyLength),
  pushNotificationConfig: optional(PushConfig),
})

export const SendParams = object({ message: SentMessage, configuration: optional(SendConfiguration), metadata })

/** To cancel a task, to subscribe to it, or to list its push configs. */
export const TaskParams = object({ id, metadata })

export const GetTaskParams = object({ id, historyLength: optional(historyLength), metadata })

const milliseconds: Schema<number> = {
  read(value) {
    if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= maxTime) return Number(value)
    throw wrongValue('a time in milliseconds since 1970', value)
  },
  node: { is: 'integer', min: 0, max: maxTime },
}

export const ListTasksParams = object({
  contextId: optional(id),
  status: optional(State),
  pageSize: optional(pageSize),
  pageToken: optional(string({ max: 4096 })),
  historyLength: optional(historyLength),
  lastUpdatedAfter: optional(milliseconds),
  includeArtifacts: optional(boolean()),
  metadata,
})

export const GetPushConfigParams = object({ id, pushNotificationConfigId: optional(id), metadata })

export const DeletePushConfigParams = object({ id, pushNotificationConfigId: id, metadata })

/** Marks a request that came from a caller: a client that forwards it adds no defaults. */
const asSent = toCarry({ asSent: true })

export const decodeRequest = createRequestDecoder(lenientReader(readParams))

/** Rejects params that break the schema. */
export const decodeRequestStrictly = createRequestDecoder(readParams)

function createRequestDecoder(read: LenientRead): ServerDialect['decodeRequest'] {
  const decodeSend = (params: unknown): service.SendRequest => {
    const { message, configuration, metadata } = read(SendParams, params, cleanSendParams)
    return {
      message: decodeMessage(message),
      ...defined({
        configuration: configuration === undefined ? undefined : decodeConfiguration(configuration),
        metadata,
      }),
      ...asSent,
    }
  }
  return {
    sendMessage: decodeSend,
    streamMessage: decodeSend,
    getTask(params) {
      const { id, ...request } = read(GetTaskParams, params, cleanTaskParams)
      return { ...request, taskId: id }
    },
    listTasks(params) {
      const { status, lastUpdatedAfter, ...request } = readParams(ListTasksParams, params)
      return {
        ...request,
        ...defined({
          state: status,
          statusSince: lastUpdatedAfter === undefined ? undefined : new Date(lastUpdatedAfter).toISOString(),
        }),
      }
    },
    cancelTask: (params) => decodeTaskParams(read(TaskParams, params, cleanTaskParams)),
    subscribeToTask: (params) => ({
      ...decodeTaskParams(read(TaskParams, params, cleanTaskParams)),
      includeEnded: true,
    }),
    createPushConfig: (params) => decodeNewConfig(readParams(TaskPushConfig, params)),
    getPushConfig: (params) => decodePushConfigRef(readParams(GetPushConfigParams, params)),
    listPushConfigs: (params) => decodeTaskParams(readParams(TaskParams, params)),
    deletePushConfig: (params) => decodePushConfigRef(readParams(DeletePushConfigParams, params)),
    getExtendedCard: () => ({}),
  }
}

function decodeConfiguration({
  blocking,
  pushNotificationConfig,
  ...configuration
}: WireConfiguration): service.SendConfiguration {
  return {
    ...configuration,
    ...defined({
      returnImmediately: blocking === undefined ? undefined : !blocking,
      push: pushNotificationConfig === undefined ? undefined : decodePushConfig(pushNotificationConfig),
    }),
  }
}

type WireConfiguration = NonNullable<Infer<typeof SendParams>['configuration']>

function decodeTaskParams({ id, ...request }: Infer<typeof TaskParams>): service.TaskAddress {
  return { ...request, taskId: id }
}

/** A config without an id gets the id of its task, as in all 0.3 servers, so that the next one replaces it. */
function decodeNewConfig({ taskId, pushNotificationConfig }: Infer<typeof TaskPushConfig>): service.PushConfig {
  if (pushNotificationConfig.id !== undefined) return { ...decodePushConfig(pushNotificationConfig), taskId }
  return { ...decodePushConfig(pushNotificationConfig, { isUnnamed: true }), id: taskId, taskId }
}

function decodePushConfigRef(params: Infer<typeof GetPushConfigParams>): service.PushConfigRef {
  const { id, pushNotificationConfigId, ...request } = params
  const ref = { ...request, taskId: id }
  return pushNotificationConfigId === undefined ? ref : { ...ref, id: pushNotificationConfigId }
}

function hintForPart(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || 'kind' in value) return undefined
  if ('type' in value) return `a part with "type" looks like A2A 0.1; ${partHint}`
  if ('text' in value || 'raw' in value || 'url' in value) {
    return `a part without "kind" looks like A2A 1.0; ${partHint}`
  }
  return undefined
}

function hintForRole(value: unknown): string | undefined {
  if (value !== 'ROLE_USER' && value !== 'ROLE_AGENT') return undefined
  return `"${value}" looks like A2A 1.0; in 0.3 write "${value.slice(5).toLowerCase()}"`
}
