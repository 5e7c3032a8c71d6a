import type { StreamEvent } from '../../protocol/events.ts'
import type { Outcome } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Reading } from '../dialect.ts'
import type { seldomAsked } from '../plain-reader.ts'
import { readResult } from '../read-params.ts'
import type { TypeOf } from '../shape.ts'
import { generation } from '../unnumbered.ts'
import { decodeArtifact, decodeMessage, decodeStatus, decodeTask } from './decode-objects.ts'
import { cleanEvent, cleanTask } from './lenient-result.ts'
import * as wire from './schemas.ts'

/** How to read what few ask for. */
type Seldom = Pick<Reading['decodeResult'], keyof typeof seldomAsked>

/** All but the card is read as it is: agents write it in too many ways to ask first. */
export function readingWith(decodeCard: Reading['decodeCard'], seldom: Seldom): Reading {
  return {
    decodeEvent,
    decodeCard,
    decodeResult: {
      ...seldom,
      sendMessage: (result) => decodeOutcome(readResult(wire.SendMessageResponse, cleanEvent(result))),
      getTask(result, { historyLength }) {
        const task = decodeTask(readResult(wire.Task, cleanTask(result)))
        // Over gRPC, to ask for none is the same as to say nothing.
        return historyLength === 0 ? { ...task, history: [] } : task
      },
      cancelTask: (result) => decodeTask(readResult(wire.Task, cleanTask(result))),
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
