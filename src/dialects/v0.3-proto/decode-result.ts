import type { StreamEvent } from '../../protocol/events.ts'
import type { Outcome, PushConfig } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Reading } from '../dialect.ts'
import { readResult } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import { generation } from '../unnumbered.ts'
import { decodeArtifact, decodeMessage, decodeNamedConfig, decodeStatus, decodeTask } from './decode-objects.ts'
import { cleanConfig, cleanConfigs, cleanEvent, cleanTask, cleanTasks } from './lenient-result.ts'
import * as wire from './schemas.ts'

/** All but the card is read as it is: agents write it in too many ways to ask first. */
export function readingWith(decodeCard: Reading['decodeCard']): Reading {
  return {
    decodeEvent,
    decodeCard,
    decodeResult: {
      sendMessage: (result) => decodeOutcome(readResult(wire.SendMessageResponse, cleanEvent(result))),
      getTask(result, { historyLength }) {
        const task = decodeTask(readResult(wire.Task, cleanTask(result)))
        // Over gRPC, to ask for none is the same as to say nothing.
        return historyLength === 0 ? { ...task, history: [] } : task
      },
      listTasks(result, { includeArtifacts = false }) {
        const { tasks, ...page } = readResult(wire.ListTasksResponse, cleanTasks(result))
        return { ...page, tasks: tasks.map(decodeTask), withArtifacts: includeArtifacts }
      },
      cancelTask: (result) => decodeTask(readResult(wire.Task, cleanTask(result))),
      createPushConfig: (result) => decodeConfig(readResult(wire.TaskPushConfig, cleanConfig(result))),
      getPushConfig: (result) => decodeConfig(readResult(wire.TaskPushConfig, cleanConfig(result))),
      listPushConfigs(result) {
        const { configs = [], nextPageToken = '' } = readResult(wire.ListPushConfigsResponse, cleanConfigs(result))
        return { configs: configs.map(decodeConfig), nextPageToken }
      },
      // Agents answer `{}`, `null` or nothing.
      deletePushConfig() {},
      getExtendedCard: decodeCard,
    },
  }
}

function decodeEvent(event: unknown): StreamEvent {
  const response = readResult(wire.StreamResponse, cleanEvent(event))
  if ('statusUpdate' in response) {
    const { contextId = '', status, final, ...update } = response.statusUpdate
    return { type: 'status', ...update, contextId, status: decodeStatus(status), generation, isLast: final }
  }
  if ('artifactUpdate' in response) {
    const { contextId = '', artifact, ...update } = response.artifactUpdate
    return { type: 'artifact', ...update, contextId, artifact: decodeArtifact(artifact), generation }
  }
  const outcome = decodeOutcome(response)
  return { ...outcome, isLast: outcome.type === 'message' || isEnded(outcome.task.status.state) }
}

function decodeOutcome(response: TypeOf<typeof wire.SendMessageResponse>): Outcome {
  return 'task' in response
    ? { type: 'task', task: decodeTask(response.task) }
    : { type: 'message', message: decodeMessage(response.message) }
}

function decodeConfig({ name, pushNotificationConfig }: TypeOf<typeof wire.TaskPushConfig>): PushConfig {
  return decodeNamedConfig(pushNotificationConfig, name)
}
