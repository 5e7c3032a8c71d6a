import type { StreamEvent } from '../../protocol/events.ts'
import type { Task, TaskStatus } from '../../protocol/model.ts'
import type { Outcome } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { ClientDialect } from '../dialect.ts'
import { readResult } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import { unknownMoment } from '../unknown-moment.ts'
import { decodeCard } from './decode-card.ts'
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

/** How far the task is, a transport that numbers its events knows: here it is 0. */
const generation = 0

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

/** What an agent leaves open is empty in the model. */
function decodeTask(task: TypeOf<typeof wire.Task>): Task {
  const { contextId = '', status, artifacts = [], history = [], ...rest } = task
  return { ...rest, contextId, status: decodeStatus(status), artifacts, history, generation }
}

function decodeStatus({ timestamp = unknownMoment, ...status }: TypeOf<typeof wire.Task>['status']): TaskStatus {
  return { ...status, timestamp }
}
