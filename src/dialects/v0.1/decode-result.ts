import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { PushConfig } from '../../protocol/service.ts'
import type { ClientDialect, RequestOf, StreamOperation } from '../dialect.ts'
import { isObject } from '../is-object.ts'
import { readResult } from '../read-params.ts'
import { generation } from '../unnumbered.ts'
import { decodeArtifact, decodePushConfig, decodeStatus, decodeTask, messageDecoder } from './decode-objects.ts'
import { missing } from './methods.ts'
import * as wire from './schemas.ts'

export const decodeResult: ClientDialect['decodeResult'] = {
  ...missing,
  sendMessage(result, { message }) {
    return { type: 'task', task: decodeTask(readResult(wire.Task, result), message.contextId) }
  },
  getTask: (result) => decodeTask(readResult(wire.Task, result)),
  cancelTask: (result) => decodeTask(readResult(wire.Task, result)),
  createPushConfig: decodeTaskPushConfig,
  getPushConfig(result) {
    if (isObject(result) && isNone(result.pushNotificationConfig)) {
      throw new A2AError('task-not-found', 'The task has no push config.')
    }
    return decodeTaskPushConfig(result)
  },
}

/** No event tells its session. */
export function decodeEvent(event: unknown, request: RequestOf<StreamOperation>): StreamEvent {
  const asked = 'message' in request ? request.message.contextId : undefined
  const refOf = (id: string) => ({ taskId: id, contextId: asked ?? id, generation })
  if (isObject(event) && isObject(event.artifact)) {
    const { id, artifact, metadata } = readResult(wire.ArtifactUpdate, event)
    const { append, lastChunk, ...whole } = artifact
    return {
      type: 'artifact',
      ...refOf(id),
      artifact: decodeArtifact(whole),
      append,
      lastChunk,
      metadata,
    }
  }
  const { id, status, final, metadata } = readResult(wire.StatusUpdate, event)
  return {
    type: 'status',
    ...refOf(id),
    ...decodeStatus(status, metadata, messageDecoder(refOf(id))),
    isLast: final,
  }
}

function decodeTaskPushConfig(result: unknown): PushConfig {
  const { id, pushNotificationConfig } = readResult(wire.TaskPushConfig, result)
  return { taskId: id, ...decodePushConfig(pushNotificationConfig) }
}

function isNone(config: unknown): boolean {
  return config === null || (isObject(config) && Object.keys(config).length === 0)
}
