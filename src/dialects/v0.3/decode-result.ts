import type { StreamEvent } from '../../protocol/events.ts'
import type { Outcome, PushConfig } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { ClientDialect } from '../dialect.ts'
import { leniently } from '../leniently.ts'
import { readResult } from '../read-params.ts'
import { list, type TypeOf } from '../shape.ts'
import { decodeCard } from './decode-card.ts'
import {
  decodeArtifact,
  decodeMessage,
  decodePushConfig,
  decodeStatus,
  decodeTask,
} from './decode-objects.ts'
import { cleanEvent, cleanPage, cleanTask } from './lenient.ts'
import * as wire from './schemas.ts'
import { generation } from '../unnumbered.ts'

const read = leniently(readResult)

export const decodeResult: ClientDialect['decodeResult'] = {
  sendMessage: (result) => decodeOutcome(read(wire.Outcome, result, cleanEvent)),
  getTask: (result) => decodeTask(read(wire.Task, result, cleanTask)),
  listTasks(result, { includeArtifacts = false }) {
    const { tasks, ...page } = read(wire.TaskPage, result, cleanPage)
    return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
  },
  cancelTask: (result) => decodeTask(read(wire.Task, result, cleanTask)),
  createPushConfig: (result) => decodeTaskPushConfig(readResult(wire.TaskPushConfig, result)),
  getPushConfig: (result) => decodeTaskPushConfig(readResult(wire.TaskPushConfig, result)),
  listPushConfigs(result) {
    const configs = readResult(list(wire.TaskPushConfig), result)
    return { configs: configs.map(decodeTaskPushConfig), nextPageToken: '' }
  },
  // It should be null; some leave it out, some send an object.
  deletePushConfig() {},
  getExtendedCard: decodeCard,
}

export function decodeEvent(result: unknown): StreamEvent {
  const event = read(wire.StreamEvent, result, cleanEvent)
  if ('status-update' in event) {
    const { status, final, ...update } = event['status-update']
    return { type: 'status', ...update, status: decodeStatus(status), generation, isLast: final }
  }
  if ('artifact-update' in event) {
    const { artifact, ...update } = event['artifact-update']
    return { type: 'artifact', ...update, artifact: decodeArtifact(artifact), generation }
  }
  const outcome = decodeOutcome(event)
  return { ...outcome, isLast: outcome.type === 'message' || isEnded(outcome.task.status.state) }
}

function decodeOutcome(outcome: TypeOf<typeof wire.Outcome>): Outcome {
  return 'task' in outcome
    ? { type: 'task', task: decodeTask(outcome.task) }
    : { type: 'message', message: decodeMessage(outcome.message) }
}

function decodeTaskPushConfig(config: TypeOf<typeof wire.TaskPushConfig>): PushConfig {
  return { ...decodePushConfig(config.pushNotificationConfig), taskId: config.taskId }
}
