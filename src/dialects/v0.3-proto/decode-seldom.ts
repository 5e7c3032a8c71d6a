import type { PushConfig } from '../../protocol/service.ts'
import type { Reading } from '../dialect.ts'
import { isObject } from '../is-object.ts'
import { readResult } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import { decodeTask } from './decode-objects.ts'
import { decodeNamedConfig } from './decode-push.ts'
import { changed, cleanTask, each } from './lenient-result.ts'
import { configName } from './names.ts'
import * as wire from './seldom-schemas.ts'

export const seldom: Pick<
  Reading['decodeResult'],
  'listTasks' | 'createPushConfig' | 'getPushConfig' | 'listPushConfigs'
> = {
  listTasks(result, { includeArtifacts = false }) {
    const { tasks, ...page } = readResult(wire.ListTasksResponse, cleanTasks(result))
    return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
  },
  createPushConfig: (result) => decodeConfig(readResult(wire.TaskPushConfig, cleanConfig(result))),
  getPushConfig: (result) => decodeConfig(readResult(wire.TaskPushConfig, cleanConfig(result))),
  listPushConfigs(result) {
    const { configs = [], nextPageToken = '' } = readResult(wire.ListPushConfigsResponse, cleanConfigs(result))
    return { configs: configs.map(decodeConfig), nextPageToken }
  },
}

function decodeConfig({ name, pushNotificationConfig }: TypeOf<typeof wire.TaskPushConfig>): PushConfig {
  return decodeNamedConfig(pushNotificationConfig, name)
}

/** The text of 0.3 has a bare list here. */
function cleanTasks(page: unknown): unknown {
  const wrapped = Array.isArray(page) ? { tasks: page, pageSize: page.length, totalSize: page.length } : page
  return changed(wrapped, { tasks: each(cleanTask) })
}

function cleanConfigs(page: unknown): unknown {
  return changed(Array.isArray(page) ? { configs: page } : page, { configs: each(cleanConfig) })
}

function cleanConfig(config: unknown): unknown {
  if (!isObject(config) || typeof config.taskId !== 'string') return config
  const { taskId, pushNotificationConfig } = config
  const id = isObject(pushNotificationConfig) ? pushNotificationConfig.id : undefined
  return { name: configName({ taskId, id: typeof id === 'string' ? id : taskId }), ...config }
}
