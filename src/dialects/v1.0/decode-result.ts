import type { StreamEvent } from '../../protocol/events.ts'
import type { Outcome } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { ClientDialect } from '../dialect.ts'
import { readResult } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import { generation } from '../unnumbered.ts'
import { decodeCard } from './decode-card.ts'
import { decodeStatus, decodeTask } from './decode-objects.ts'
import * as wire from './schemas.ts'

export const decodeResult: ClientDialect['decodeResult'] = {
  sendMessage: (result) => decodeOutcome(readResult(wire.SendMessageResponse, result)),
  getTask: (result) => decodeTask(readResult(wire.Task, result)),
  listTasks(result, { includeArtifacts = false }) {
    const { tasks, ...page } = readResult(wire.ListTasksResponse, result)
    return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
  },
  cancelTask: (result) => decodeTask(readResult(wire.Task, result)),
  createPushConfig: (result) => readResult(wire.PushConfig, result),
  getPushConfig: (result) => readResult(wire.PushConfig, result),
  listPushConfigs(result) {
    const { configs = [], nextPageToken = '' } = readResult(wire.ListPushConfigsResponse, result)
    return { configs, nextPageToken }
  },
  // Agents answer `{}`, `null` or nothing.
  deletePushConfig() {},
  getExtendedCard: decodeCard,
}

export function decodeEvent(event: unknown): StreamEvent {
  const response = readResult(wire.StreamResponse, event)
  if ('statusUpdate' in response) {
    const { status, ...update } = response.statusUpdate
    return { type: 'status', ...update, status: decodeStatus(status), generation, isLast: isEnded(status.state) }
  }
  if ('artifactUpdate' in response) return { type: 'artifact', ...response.artifactUpdate, generation }
  const outcome = decodeOutcome(response)
  return { ...outcome, isLast: outcome.type === 'message' || isEnded(outcome.task.status.state) }
}

function decodeOutcome(response: TypeOf<typeof wire.SendMessageResponse>): Outcome {
  return 'task' in response
    ? { type: 'task', task: decodeTask(response.task) }
    : { type: 'message', message: response.message }
}
