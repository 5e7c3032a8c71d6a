import type { TaskEvent } from '../protocol/events.ts'
import { parseTimestamp, type TaskStatus } from '../protocol/model.ts'
import type { Phase } from '../protocol/states.ts'
import { withoutMessage } from './fold.ts'
import type { TaskHead } from './log.ts'

/** The part of a head that events change. */
export interface HeadState {
  readonly generation: number
  readonly phase: TaskHead['phase']
  readonly status?: TaskStatus
  readonly changed: number
  readonly dialect?: string
}

/** Where a task stands after these events: what every log keeps beside them. */
export function advanceHead(
  standing: HeadState,
  events: readonly TaskEvent[],
  now: () => number = Date.now,
): HeadState {
  let { phase, status, changed, dialect } = standing
  for (const event of events) {
    if (event.type === 'status') {
      phase = event.status.state
      status = event.status
      changed = parseTimestamp(status.timestamp)
    } else if (event.type === 'message') {
      // As in the fold: an answered status message belongs to the history.
      dialect = event.dialect ?? dialect
      status = status && withoutMessage(status)
    } else if (event.type === 'reply') {
      phase = 'answered'
      changed = now()
    }
  }
  return { generation: standing.generation + events.length, phase, status, changed, dialect }
}

/** Where a new exchange stands before its first event. */
export function initialHead(now: number): HeadState {
  return { generation: 0, phase: 'received' satisfies Phase, changed: now }
}
