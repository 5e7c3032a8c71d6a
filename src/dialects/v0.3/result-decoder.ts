import type { StreamEvent } from '../../protocol/events.ts'
import type { Outcome, PushConfig } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Reading } from '../dialect.ts'
import { readResult } from '../read-params.ts'
import { list, type Shape, type TypeOf } from '../shape.ts'
import { generation } from '../unnumbered.ts'
import { decodeArtifact, decodeMessage, decodePushConfig, decodeStatus, decodeTask } from './decode-objects.ts'
import * as wire from './schemas.ts'

/** Reads an object of this kind, which tells the lenient how to put it right. */
export type ReadKind = <T>(shape: Shape<T>, wire: unknown, kind: 'event' | 'task' | 'page') => T

export function readingBy(read: ReadKind, decodeCard: Reading['decodeCard']): Reading {
  return {
    decodeResult: {
      sendMessage: (result) => decodeOutcome(read(wire.Outcome, result, 'event')),
      getTask: (result) => decodeTask(read(wire.Task, result, 'task')),
      listTasks(result, { includeArtifacts = false }) {
        const { tasks, ...page } = read(wire.TaskPage, result, 'page')
        return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
      },
      cancelTask: (result) => decodeTask(read(wire.Task, result, 'task')),
      createPushConfig: (result) => decodeTaskPushConfig(readResult(wire.TaskPushConfig, result)),
      getPushConfig: (result) => decodeTaskPushConfig(readResult(wire.TaskPushConfig, result)),
      listPushConfigs(result) {
        const configs = readResult(list(wire.TaskPushConfig), result)
        return { configs: configs.map(decodeTaskPushConfig), nextPageToken: '' }
      },
      // It should be null; some leave it out, some send an object.
      deletePushConfig() {},
      getExtendedCard: decodeCard,
    },
    decodeEvent: (event) => decodeEvent(read(wire.StreamEvent, event, 'event')),
    decodeCard,
  }
}

function decodeEvent(event: TypeOf<typeof wire.StreamEvent>): StreamEvent {
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
