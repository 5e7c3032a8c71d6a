import type { PushConfig } from '../../protocol/service.ts'
import type { Reading } from '../dialect.ts'
import { isObject } from '../is-object.ts'
import { readResult } from '../read-params.ts'
import { list, type TypeOf } from '../shape.ts'
import { seldom as proto } from '../v0.3-proto/decode-seldom.ts'
import { decodeTask } from './decode-objects.ts'
import { decodePushConfig } from './decode-push.ts'
import type { ReadKind } from './result-decoder.ts'
import * as wire from './seldom-schemas.ts'

type Results = Reading['decodeResult']

export function listTasksBy(read: ReadKind): Results['listTasks'] {
  return (result, request) => {
    if (isOfProto(result)) return proto.listTasks(result, request)
    const { includeArtifacts = false } = request
    const { tasks, ...page } = read(wire.TaskPage, result, 'page')
    return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
  }
}

/** Over REST nothing in the question tells which JSON of 0.3 is meant, and most agents answer in that of its proto. */
function isOfProto(page: unknown): boolean {
  const tasks = isObject(page) && Array.isArray(page.tasks) ? page.tasks : []
  return tasks.some((task) => isObject(task) && task.kind === undefined && hasProtoState(task.status))
}

function hasProtoState(status: unknown): boolean {
  return isObject(status) && typeof status.state === 'string' && status.state.startsWith('TASK_STATE_')
}

export const pushConfigs: Pick<Results, 'createPushConfig' | 'getPushConfig' | 'listPushConfigs'> = {
  createPushConfig: (result) => decodeTaskPushConfig(readResult(wire.TaskPushConfig, result)),
  getPushConfig: (result) => decodeTaskPushConfig(readResult(wire.TaskPushConfig, result)),
  listPushConfigs(result) {
    const configs = readResult(list(wire.TaskPushConfig), result)
    return { configs: configs.map(decodeTaskPushConfig), nextPageToken: '' }
  },
}

function decodeTaskPushConfig(config: TypeOf<typeof wire.TaskPushConfig>): PushConfig {
  return { ...decodePushConfig(config.pushNotificationConfig), taskId: config.taskId }
}
