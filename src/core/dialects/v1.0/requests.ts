import { invalidParams } from '../../protocol/errors.ts'
import type { SendConfiguration, SendRequest } from '../../protocol/service.ts'
import type { Infer } from '../../schema/schema.ts'
import { boolean, implicit, list, object, optional, string, timestamp, withHint } from '../../schema/values.ts'
import { id, readParams } from '../codec.ts'
import type { ServerDialect } from '../dialect.ts'
import { historyLength, maxParts, pageSize, withKnownKind } from '../request-fields.ts'
import {
  messageFields,
  metadata,
  nonEmptyStrings,
  Part,
  PushConfig,
  pushFields,
  Role,
  State,
  tenant,
} from './schemas.ts'

// The requests of A2A 1.0. Only servers read them, so they are not part of the client.

/** The hint for callers that mix older versions of A2A into 1.0. */
const partHint = 'in 1.0 write {"text": …}, {"raw": base64}, {"url": …} or {"data": …}'

const pageToken = implicit(string({ max: 4096 }))

const SentMessage = object({
  ...messageFields,
  role: withHint(Role, hintForRole),
  parts: list(withHint(withKnownKind(Part), hintForPart), { min: 1, max: maxParts }),
})

const Configuration = object({
  acceptedOutputModes: implicit(nonEmptyStrings),
  taskPushNotificationConfig: optional(PushConfig),
  historyLength: optional(historyLength),
  returnImmediately: implicit(boolean()),
})

export const SendMessageRequest = object({
  tenant,
  message: SentMessage,
  configuration: optional(Configuration),
  metadata,
})

export const GetTaskRequest = object({ tenant, id, historyLength: optional(historyLength) })

export const ListTasksRequest = object({
  tenant,
  contextId: implicit(id),
  status: implicit(State),
  pageSize: optional(pageSize),
  pageToken,
  historyLength: optional(historyLength),
  statusTimestampAfter: optional(timestamp()),
  includeArtifacts: optional(boolean()),
})

export const CancelTaskRequest = object({ tenant, id, metadata })

export const SubscribeToTaskRequest = object({ tenant, id })

/** `taskId` is required. In the proto it is optional, because REST has it in the path. */
export const CreatePushConfigRequest = object({ ...pushFields, taskId: id })

/** To get or delete a config. */
export const PushConfigRequest = object({ tenant, taskId: id, id })

export const ListPushConfigsRequest = object({ tenant, taskId: id, pageSize: implicit(pageSize), pageToken })

export const GetExtendedCardRequest = object({ tenant })

export const decodeRequest: ServerDialect['decodeRequest'] = {
  sendMessage: decodeSend,
  streamMessage: decodeSend,
  getTask(params) {
    const { id, ...request } = readParams(GetTaskRequest, params)
    return { ...request, taskId: id }
  },
  listTasks(params) {
    const { status, statusTimestampAfter, ...request } = readParams(ListTasksRequest, params)
    return { ...request, state: status, statusSince: statusTimestampAfter }
  },
  cancelTask(params) {
    const { id, ...request } = readParams(CancelTaskRequest, params)
    return { ...request, taskId: id }
  },
  subscribeToTask(params) {
    const { id, ...request } = readParams(SubscribeToTaskRequest, params)
    return { ...request, taskId: id }
  },
  createPushConfig: (params) => readParams(CreatePushConfigRequest, params),
  getPushConfig: (params) => readParams(PushConfigRequest, params),
  listPushConfigs: (params) => readParams(ListPushConfigsRequest, params),
  deletePushConfig: (params) => readParams(PushConfigRequest, params),
  getExtendedCard: (params) => readParams(GetExtendedCardRequest, params),
}

function decodeSend(params: unknown): SendRequest {
  const { configuration, ...request } = readParams(SendMessageRequest, params)
  if (request.message.role !== 'user') {
    throw invalidParams('message.role', 'expected ROLE_USER, got ROLE_AGENT, which only the agent itself may be')
  }
  return configuration === undefined ? request : { ...request, configuration: decodeConfiguration(configuration) }
}

function decodeConfiguration({ taskPushNotificationConfig, ...configuration }: WireConfiguration): SendConfiguration {
  return taskPushNotificationConfig === undefined
    ? configuration
    : { ...configuration, push: taskPushNotificationConfig }
}

type WireConfiguration = NonNullable<Infer<typeof SendMessageRequest>['configuration']>

function hintForRole(value: unknown): string | undefined {
  if (value !== 'user' && value !== 'agent') return undefined
  return `"${value}" looks like A2A 0.3 or older; in 1.0 write "ROLE_${value.toUpperCase()}"`
}

function hintForPart(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if ('kind' in value) return `a part with "kind" looks like A2A 0.2 or 0.3; ${partHint}`
  if ('type' in value) return `a part with "type" looks like A2A 0.1; ${partHint}`
  return undefined
}
