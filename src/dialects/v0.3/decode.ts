import type { PushConfig, PushConfigRef, SendConfiguration, SendRequest, TaskAddress } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import { type LenientRead, leniently } from '../leniently.ts'
import { readParams } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import { carrying } from './carry.ts'
import { decodeMessage } from './decode-objects.ts'
import { decodePushConfig } from './decode-push.ts'
import { cleanSendParams, cleanTaskParams } from './lenient.ts'
import * as wire from './request-schemas.ts'
import { TaskPushConfig } from './seldom-schemas.ts'

export const decodeRequest = requestDecoder(leniently(readParams))

/** Takes nothing that is not in the schema. */
export const decodeRequestStrictly = requestDecoder(readParams)

function requestDecoder(read: LenientRead): ServerDialect['decodeRequest'] {
  const decodeSend = (params: unknown): SendRequest => {
    const { message, configuration, metadata } = read(wire.SendParams, params, cleanSendParams)
    return {
      message: decodeMessage(message),
      ...(configuration !== undefined && { configuration: decodeConfiguration(configuration) }),
      ...(metadata !== undefined && { metadata }),
      ...asSent,
    }
  }
  return {
    sendMessage: decodeSend,
    streamMessage: decodeSend,
    getTask(params) {
      const { id, ...request } = read(wire.GetTaskParams, params, cleanTaskParams)
      return { ...request, taskId: id }
    },
    listTasks(params) {
      const { status, lastUpdatedAfter, ...request } = readParams(wire.ListTasksParams, params)
      return {
        ...request,
        ...(status !== undefined && { state: status }),
        ...(lastUpdatedAfter !== undefined && { statusSince: new Date(lastUpdatedAfter).toISOString() }),
      }
    },
    cancelTask: (params) => addressOf(read(wire.TaskParams, params, cleanTaskParams)),
    subscribeToTask: (params) => ({ ...addressOf(read(wire.TaskParams, params, cleanTaskParams)), tellEnded: true }),
    createPushConfig: (params) => decodeNewConfig(readParams(TaskPushConfig, params)),
    getPushConfig: (params) => decodePushConfigRef(readParams(wire.GetPushConfigParams, params)),
    listPushConfigs: (params) => addressOf(readParams(wire.TaskParams, params)),
    deletePushConfig: (params) => decodePushConfigRef(readParams(wire.DeletePushConfigParams, params)),
    getExtendedCard: () => ({}),
  }
}

/** Where a client would fill in what is missing, the wish of this caller is to be passed on as it is. */
const asSent = carrying({ asSent: true })

type WireConfiguration = NonNullable<TypeOf<typeof wire.SendParams>['configuration']>

function decodeConfiguration({
  blocking,
  pushNotificationConfig,
  ...configuration
}: WireConfiguration): SendConfiguration {
  return {
    ...configuration,
    ...(blocking !== undefined && { returnImmediately: !blocking }),
    ...(pushNotificationConfig !== undefined && { push: decodePushConfig(pushNotificationConfig) }),
  }
}

function addressOf({ id, ...request }: TypeOf<typeof wire.TaskParams>): TaskAddress {
  return { ...request, taskId: id }
}

/** Setting a config without an id again replaces it, as all servers of 0.3 do: they name it after its task. */
function decodeNewConfig({ taskId, pushNotificationConfig }: TypeOf<typeof TaskPushConfig>): PushConfig {
  if (pushNotificationConfig.id !== undefined) return { ...decodePushConfig(pushNotificationConfig), taskId }
  return { ...decodePushConfig(pushNotificationConfig, { isUnnamed: true }), id: taskId, taskId }
}

function decodePushConfigRef(params: TypeOf<typeof wire.GetPushConfigParams>): PushConfigRef {
  const { id, pushNotificationConfigId, ...request } = params
  const ref = { ...request, taskId: id }
  return pushNotificationConfigId === undefined ? ref : { ...ref, id: pushNotificationConfigId }
}
