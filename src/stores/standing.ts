import type { TaskEvent } from '../protocol/events.ts'
import { isEnded } from '../protocol/states.ts'
import type { TaskHead } from '../tasks/log.ts'

/** What events change in the row of their task. */

/** Whether a message came after the last status, be that among these events or before them. */
export function isAnswered(events: readonly TaskEvent[]): 0 | 1 {
  return lastIndex(events, 'message') > lastIndex(events, 'status') ? 1 : 0
}

function lastIndex(events: readonly TaskEvent[], type: TaskEvent['type']): number {
  return events.findLastIndex((event) => event.type === type)
}

/** Most events of a long task change nothing but its generation. */
export function leavesStanding({ type }: TaskEvent): boolean {
  return type === 'artifact' || type === 'cancel' || type === 'journal'
}

export function isOver(phase: TaskHead['phase']): boolean {
  return phase === 'expired' || isEnded(phase)
}
