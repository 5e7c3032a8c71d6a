import type { JsonObject } from '../../base/json.ts'
import { invalidParams } from '../../protocol/errors.ts'
import type * as service from '../../protocol/service.ts'
import type { Infer } from '../../schema/schema.ts'
import {
  boolean,
  defaultsTo,
  implicit,
  list,
  object,
  optional,
  string,
  struct,
  timestamp,
  withHint,
} from '../../schema/values.ts'
import { id, readParams } from '../codec.ts'
import type { ServerDialect } from '../dialect.ts'
import { historyLength, maxParts, pageSize, withKnownKind } from '../request-fields.ts'
import { decodeMessage, decodeNamedConfig, decodePushConfig } from './decode.ts'
import { cleanListTasksParams, cleanSendParams, withStatusTime } from './lenient.ts'
import { toCarry } from './parts.ts'
import { ConfigName, configName, TaskName } from './resource-names.ts'
import { messageFields, metadata, nonEmptyStrings, Part, PushConfig, Role, State } from './schemas.ts'

// The requests of the proto of 0.3. Only servers read them, so they are not part of the client.

/** The hint for callers that mix other forms of A2A into the proto of 0.3. */
const partHint =
  'in the proto of 0.3 write {"text": …}, {"file": {"fileWithBytes": base64}}, {"file": {"fileWithUri": …}} or {"data": {"data": {…}}}'

const pageToken = implicit(string({ max: 4096 }))

const SentMessage = object({
  ...messageFields,
  role: withHint(Role, hintForRole),
  content: list(withHint(withKnownKind(Part), hintForPart), { min: 1, max: maxParts }),
})

/** In the proto, `historyLength` has no presence. JSON distinguishes 0 from none: see `decodeConfiguration`. */
const SendConfiguration = object({
  acceptedOutputModes: implicit(nonEmptyStrings),
  pushNotification: optional(PushConfig),
  historyLength: optional(historyLength),
  blocking: implicit(boolean()),
})

export const SendMessageRequest = object({
  message: SentMessage,
  configuration: optional(SendConfiguration),
  metadata,
})

export const GetTaskRequest = object({ name: TaskName, historyLength: optional(historyLength) })

/** To cancel a task, or to subscribe to it. */
export const TaskRequest = object({ name: TaskName })

/** As in 1.0: the proto does not have it. */
export const ListTasksRequest = object({
  contextId: implicit(id),
  status: implicit(State),
  pageSize: implicit(pageSize),
  pageToken,
  historyLength: optional(historyLength),
  statusTimestampAfter: optional(timestamp({ zone: 'Z' })),
  includeArtifacts: optional(boolean()),
})

export const CreatePushConfigRequest = object({
  parent: TaskName,
  configId: defaultsTo(id, ''),
  config: object({ name: implicit(string()), pushNotificationConfig: PushConfig }),
})

/** To get or delete a config. */
export const PushConfigRequest = object({ name: ConfigName })

export const ListPushConfigsRequest = object({ parent: TaskName, pageSize: implicit(pageSize), pageToken })

const GetAgentCardRequest = struct()

/** Marks a request that came from a caller: a client that forwards it adds no defaults. */
const asSent = toCarry({ asSent: true })

/** Rejects params that are not ProtoJSON of the proto. */
export const decodeRequestStrictly: ServerDialect['decodeRequest'] = {
  sendMessage: decodeSend,
  streamMessage: decodeSend,
  getTask(params) {
    const { name, ...request } = readParams(GetTaskRequest, params)
    return { ...request, taskId: name }
  },
  listTasks(params) {
    const { status, statusTimestampAfter, ...request } = readParams(ListTasksRequest, withStatusTime(params))
    return { ...request, state: status, statusSince: statusTimestampAfter }
  },
  cancelTask: (params) => ({ taskId: readParams(TaskRequest, params).name }),
  subscribeToTask: (params) => ({ taskId: readParams(TaskRequest, params).name, includeEnded: true }),
  createPushConfig: (params) => decodeNewConfig(readParams(CreatePushConfigRequest, params)),
  getPushConfig: (params) => readParams(PushConfigRequest, params).name,
  listPushConfigs(params) {
    const { parent, ...request } = readParams(ListPushConfigsRequest, params)
    return { ...request, taskId: parent }
  },
  deletePushConfig: (params) => readParams(PushConfigRequest, params).name,
  getExtendedCard(params) {
    readParams(GetAgentCardRequest, params)
    return {}
  },
}

export const decodeRequest: ServerDialect['decodeRequest'] = {
  ...decodeRequestStrictly,
  sendMessage: (params) => decodeSend(cleanSendParams(params)),
  streamMessage: (params) => decodeSend(cleanSendParams(params)),
  listTasks: (params) => decodeRequestStrictly.listTasks(cleanListTasksParams(params)),
}

function decodeSend(params: unknown): service.SendRequest {
  const { message, configuration, metadata } = readParams(SendMessageRequest, params)
  if (message.role !== 'user') {
    throw invalidParams('message.role', 'expected ROLE_USER, got ROLE_AGENT, which only the agent itself may be')
  }
  return {
    message: decodeMessage(message),
    configuration: configuration && decodeConfiguration(configuration),
    metadata,
    ...asSent,
  }
}

/**
 * ProtoJSON omits false, so a configuration without `blocking` means not to wait; only a caller without a configuration
 * leaves it open. A `historyLength` of 0 means no history over REST. In gRPC it cannot be distinguished from none, so the
 * conversion from gRPC to JSON never writes 0.
 */
function decodeConfiguration({
  blocking,
  pushNotification,
  ...configuration
}: WireConfiguration): service.SendConfiguration {
  return {
    ...configuration,
    returnImmediately: !blocking,
    push: pushNotification && decodePushConfig(pushNotification),
  }
}

type WireConfiguration = NonNullable<Infer<typeof SendMessageRequest>['configuration']>

/** A config without an id gets the id of its task, as in all 0.3 servers, so that the next one replaces it. */
function decodeNewConfig({ parent, configId, config }: Infer<typeof CreatePushConfigRequest>): service.PushConfig {
  const { name = '', pushNotificationConfig } = config
  const address = { taskId: parent, id: configId || pushNotificationConfig.id || parent }
  const extras: JsonObject = name === configName(address) ? {} : { name }
  const namedConfig = configId ? pushNotificationConfig : { ...pushNotificationConfig, id: address.id }
  return decodeNamedConfig(namedConfig, address, extras)
}

function hintForRole(value: unknown): string | undefined {
  if (value !== 'user' && value !== 'agent') return undefined
  return `"${value}" looks like A2A 0.3 over JSON-RPC; in the proto write "ROLE_${value.toUpperCase()}"`
}

function hintForPart(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if ('kind' in value) return `a part with "kind" looks like A2A 0.3 over JSON-RPC; ${partHint}`
  if ('type' in value) return `a part with "type" looks like A2A 0.1; ${partHint}`
  if ('raw' in value || 'url' in value) return `a part with "raw" or "url" looks like A2A 1.0; ${partHint}`
  return undefined
}
