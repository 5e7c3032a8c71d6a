import type { SendConfiguration, SendRequest } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import { type LenientRead, leniently } from '../leniently.ts'
import { readParams } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import { carrying } from './carry.ts'
import { decodeMessage, decodePushConfig } from './decode-objects.ts'
import { cleanSendParams, cleanTaskParams } from './lenient.ts'
import * as wire from './request-schemas.ts'
import { TaskPushConfig } from './schemas.ts'

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
    cancelTask(params) {
      const { id, ...request } = read(wire.TaskParams, params, cleanTaskParams)
      return { ...request, taskId: id }
    },
    subscribeToTask: (params) => ({ taskId: read(wire.TaskParams, params, cleanTaskParams).id, tellEnded: true }),
    createPushConfig(params) {
      const { taskId, pushNotificationConfig } = readParams(TaskPushConfig, params)
      // Setting a config without an id again replaces it, as all servers of 0.3 do: they name it after its task.
      return { id: taskId, ...decodePushConfig(pushNotificationConfig), taskId }
    },
    getPushConfig: (params) => decodePushConfigRef(readParams(wire.GetPushConfigParams, params)),
    listPushConfigs: (params) => ({ taskId: readParams(wire.TaskParams, params).id }),
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

function decodePushConfigRef({ id, pushNotificationConfigId }: TypeOf<typeof wire.GetPushConfigParams>) {
  return pushNotificationConfigId === undefined ? { taskId: id } : { taskId: id, id: pushNotificationConfigId }
}
