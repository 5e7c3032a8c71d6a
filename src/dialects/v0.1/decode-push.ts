import { A2AError } from '../../protocol/errors.ts'
import type { PushConfig } from '../../protocol/service.ts'
import type { Reading } from '../dialect.ts'
import { isObject } from '../is-object.ts'
import { readResult } from '../read-params.ts'
import { carrying } from './carry.ts'
import * as wire from './push-schemas.ts'

export const pushResults: Pick<Reading['decodeResult'], 'createPushConfig' | 'getPushConfig'> = {
  createPushConfig: decodeTaskPushConfig,
  getPushConfig(result) {
    if (isObject(result) && isNone(result.pushNotificationConfig)) {
      throw new A2AError('task-not-found', 'The task has no push config.')
    }
    return decodeTaskPushConfig(result)
  },
}

function decodeTaskPushConfig(result: unknown): PushConfig {
  const { id, pushNotificationConfig } = readResult(wire.TaskPushConfig, result)
  return { taskId: id, ...decodePushConfig(pushNotificationConfig) }
}

function isNone(config: unknown): boolean {
  return config === null || (isObject(config) && Object.keys(config).length === 0)
}

/** The model has one scheme of authentication: the first. */
export function decodePushConfig({ authentication, ...config }: wire.PushConfig): PushConfig {
  if (authentication === undefined) return config
  const { credentials, ...others } = authentication
  const [scheme = ''] = authentication.schemes
  return {
    ...config,
    authentication: { scheme, ...(typeof credentials === 'string' && { credentials }) },
    ...carrying({ authentication: others }),
  }
}
