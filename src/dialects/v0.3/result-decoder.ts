import type { StreamEvent } from '../../protocol/events.ts'
import type { Outcome } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Reading } from '../dialect.ts'
import type { seldomAsked } from '../plain-reader.ts'
import type { Shape, TypeOf } from '../shape.ts'
import { generation } from '../unnumbered.ts'
import { decodeArtifact, decodeMessage, decodeStatus, decodeTask } from './decode-objects.ts'
import * as wire from './schemas.ts'

/** How to read what few ask for. */
type Seldom = Pick<Reading['decodeResult'], keyof typeof seldomAsked>

/** Reads an object of this kind, which tells the lenient how to put it right. */
export type ReadKind = <T>(shape: Shape<T>, wire: unknown, kind: 'event' | 'task' | 'page') => T

export function readingBy(read: ReadKind, decodeCard: Reading['decodeCard'], seldom: Seldom): Reading {
  return {
    decodeResult: {
      ...seldom,
      sendMessage: (result) => decodeOutcome(read(wire.Outcome, result, 'event')),
      getTask: (result) => decodeTask(read(wire.Task, result, 'task')),
      cancelTask: (result) => decodeTask(read(wire.Task, result, 'task')),
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
