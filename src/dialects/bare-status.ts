import type { TaskState, TaskStatus } from '../protocol/model.ts'
import type { Carried, Carrying } from './carry.ts'
import type { Draft } from './draft.ts'
import { unknownMoment } from './unnumbered.ts'

/** What a status on the wire says besides its message. */
export interface BareStatus {
  /** Some agents lose track of a task, and say so. */
  readonly state: TaskState | 'unknown'
  readonly timestamp?: string
}

/** An agent that does not know what became of a task has at least not ended it. */
export function decodeBareStatus({ state, timestamp }: BareStatus, carrying: Carrying): TaskStatus {
  const kept: Draft = {}
  if (state === 'unknown') kept.state = state
  if (timestamp === unknownMoment) kept.timestamp = timestamp
  return {
    state: state === 'unknown' ? 'working' : state,
    timestamp: timestamp ?? unknownMoment,
    ...carrying(kept),
  }
}

export function encodeBareStatus({ state, timestamp, carry }: TaskStatus, carried: Carried): BareStatus {
  const kept = carried(carry)
  return {
    state: state === 'working' && kept.state === 'unknown' ? 'unknown' : state,
    timestamp: timestamp === unknownMoment && kept.timestamp === undefined ? undefined : timestamp,
  }
}
