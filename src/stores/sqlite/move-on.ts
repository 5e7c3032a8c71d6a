import { advance, beginning } from '../../tasks/advance.ts'
import { type EventBatch, statusRow } from '../event-batch.ts'
import { isAnswered, isOver, leavesStanding } from '../standing.ts'
import type { SqliteDatabase } from './driver.ts'

/**
 * Moves the row of a task on by events of its writer, in one statement that looks and changes; gives the row's key.
 * Undefined if the row is not as it must be: why, the long way finds out. A turn is made of such appends.
 */
export type MoveOn = (taskId: string, after: number, batch: EventBatch, fence: number) => number | undefined

export function createMoveOn(db: SqliteDatabase): MoveOn {
  const asExpected = "WHERE task_id = ? AND generation = ? AND fence = ? AND phase <> 'expired' RETURNING key"
  const standing = 'generation = ?, phase = ?, status_row = coalesce(?, status_row), status_answered = ?'
  const count = db.prepare(`UPDATE tasks SET generation = ? ${asExpected}`)
  const change = db.prepare(`UPDATE tasks SET ${standing}, changed = ? ${asExpected}`)
  const end = db.prepare(`
    UPDATE tasks SET ${standing}, changed = ?, ended = 1, lease_until = NULL, lease_holder = NULL ${asExpected}`)

  return (taskId, after, batch, fence) => {
    const { events } = batch
    // What a caller says changes more than its writer knows of.
    if (events.some(({ type }) => type === 'message')) return undefined
    const row = [taskId, after, fence] as const
    const generation = after + events.length
    if (events.every(leavesStanding)) return keyOf(count.get(generation, ...row))
    const { phase, changed } = advance(beginning(0), events)
    const told = [generation, phase, statusRow(batch, after), isAnswered(events), changed] as const
    return keyOf((isOver(phase) ? end : change).get(...told, ...row))
  }
}

function keyOf(row: unknown): number | undefined {
  return (row as { readonly key: number } | undefined)?.key
}
