import type { TaskEvent } from '../protocol/events.ts'
import { parseTimestamp, type TaskStatus } from '../protocol/model.ts'
import type { Phase } from '../protocol/states.ts'
import { withoutMessage } from './fold.ts'
import type { TaskHead } from './log.ts'

/** The part of a head that changes with events. */
export interface HeadState {
  readonly generation: number
  readonly phase: TaskHead['phase']
  readonly status?: TaskStatus
  readonly changed: number
  readonly dialect?: string
}

/** The head of a task before its first event. */
export function initialHead(now: number): HeadState {
  return { generation: 0, phase: 'received' satisfies Phase, changed: now }
}

/** The head of a task after these events. Every log stores it beside the events. */
export function advanceHead(head: HeadState, events: readonly TaskEvent[], now: () => number = Date.now): HeadState {
  let { phase, status, changed, dialect } = head
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
  return { generation: head.generation + events.length, phase, status, changed, dialect }
}
