import type { StreamEvent } from '../../protocol/events.ts'
import type { ClientDialect, RequestOf, StreamOperation } from '../dialect.ts'
import { isObject } from '../is-object.ts'
import { unusual } from '../plain-reader.ts'
import { readResult } from '../read-params.ts'
import { generation } from '../unnumbered.ts'
import { decodeArtifact, decodeStatus, decodeTask, messageDecoder } from './decode-objects.ts'
import { missing } from './methods.ts'
import * as wire from './schemas.ts'

/** But for where the agent calls, which few ask for. */
export const usualResults: ClientDialect['decodeResult'] = {
  ...missing,
  sendMessage(result, { message }) {
    return { type: 'task', task: decodeTask(readResult(wire.Task, result), message.contextId) }
  },
  getTask: (result) => decodeTask(readResult(wire.Task, result)),
  cancelTask: (result) => decodeTask(readResult(wire.Task, result)),
  createPushConfig: unusual,
  getPushConfig: unusual,
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
