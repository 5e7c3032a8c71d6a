import { invalidParams } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { PushConfig, SendConfiguration, SendRequest } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import { readParams } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import { carrying } from './carry.ts'
import { decodeMessage } from './decode-objects.ts'
import { decodeNamedConfig, decodePushConfig } from './decode-push.ts'
import { cleanListTasks, cleanSend } from './lenient.ts'
import { configName } from './names.ts'
import * as wire from './request-schemas.ts'

/** Takes nothing that is not ProtoJSON of the proto. */
export const decodeRequestStrictly: ServerDialect['decodeRequest'] = {
  sendMessage: decodeSend,
  streamMessage: decodeSend,
  getTask(params) {
    const { name, ...request } = readParams(wire.GetTaskRequest, params)
    return { ...request, taskId: name }
  },
  listTasks(params) {
    const { status, statusTimestampAfter, ...request } = readParams(wire.ListTasksRequest, params)
    return { ...request, state: status, statusSince: statusTimestampAfter }
  },
  cancelTask: (params) => ({ taskId: readParams(wire.TaskRequest, params).name }),
  subscribeToTask: (params) => ({ taskId: readParams(wire.TaskRequest, params).name, tellEnded: true }),
  createPushConfig: (params) => decodeNewConfig(readParams(wire.CreatePushConfigRequest, params)),
  getPushConfig: (params) => readParams(wire.PushConfigRequest, params).name,
  listPushConfigs(params) {
    const { parent, ...request } = readParams(wire.ListPushConfigsRequest, params)
    return { ...request, taskId: parent }
  },
  deletePushConfig: (params) => readParams(wire.PushConfigRequest, params).name,
  getExtendedCard(params) {
    readParams(wire.GetAgentCardRequest, params)
    return {}
  },
}

export const decodeRequest: ServerDialect['decodeRequest'] = {
  ...decodeRequestStrictly,
  sendMessage: (params) => decodeSend(cleanSend(params)),
  streamMessage: (params) => decodeSend(cleanSend(params)),
  listTasks: (params) => decodeRequestStrictly.listTasks(cleanListTasks(params)),
}

function decodeSend(params: unknown): SendRequest {
  const { message, configuration, metadata } = readParams(wire.SendMessageRequest, params)
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

/** Where a client would fill in what is missing, the wish of this caller is to be passed on as it is. */
const asSent = carrying({ asSent: true })

type WireConfiguration = NonNullable<TypeOf<typeof wire.SendMessageRequest>['configuration']>

/**
 * Writers of ProtoJSON leave out what is false, so a configuration without `blocking` says not to wait, and only a
 * caller without a configuration leaves it open. Over REST 0 for `historyLength` asks for none; in gRPC nobody can tell
 * it from nothing, so what turns gRPC into JSON never writes a 0.
 */
function decodeConfiguration({ blocking, pushNotification, ...configuration }: WireConfiguration): SendConfiguration {
  return {
    ...configuration,
    returnImmediately: !blocking,
    push: pushNotification && decodePushConfig(pushNotification),
  }
}

/** Without an id it is named after its task, as servers of 0.3 do: so the next one replaces it. */
function decodeNewConfig({ parent, configId, config }: TypeOf<typeof wire.CreatePushConfigRequest>): PushConfig {
  const { name = '', pushNotificationConfig: given } = config
  const address = { taskId: parent, id: configId || given.id || parent }
  const kept: JsonObject = name === configName(address) ? {} : { name }
  return decodeNamedConfig(configId ? given : { ...given, id: address.id }, address, kept)
}
