import type { PushConfig } from '../../protocol/service.ts'
import type { Reading } from '../dialect.ts'
import { readResult } from '../read-params.ts'
import { list, type TypeOf } from '../shape.ts'
import { decodeTask } from './decode-objects.ts'
import { decodePushConfig } from './decode-push.ts'
import type { ReadKind } from './result-decoder.ts'
import * as wire from './seldom-schemas.ts'

type Results = Reading['decodeResult']

export function listTasksBy(read: ReadKind): Results['listTasks'] {
  return (result, { includeArtifacts = false }) => {
    const { tasks, ...page } = read(wire.TaskPage, result, 'page')
    return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
  }
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
