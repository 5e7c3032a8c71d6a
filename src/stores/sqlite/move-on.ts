import { advance, beginning } from '../../tasks/advance.ts'
import { type EventBatch, statusRow } from '../event-batch.ts'
import { isAnswered, isOver, leavesStanding } from '../standing.ts'
import type { SqliteDatabase } from './driver.ts'

/**
 * Moves the row of a task on by events of its writer, in one statement that looks and changes; gives the row's key.
 * Undefined if the row is not as it must be: why, the long way finds out. A turn is made of such appends.
 */
export interface MoveOn {
  (taskId: string, after: number, batch: EventBatch, fence: number): number | undefined
  /** Remembers where the row of a task is that is at work here. */
  know(taskId: string, key: number): void
}

/** Whose rows need no looking up. Who is at work on more tasks at once looks the oldest of them up. */
const knownTasks = 10_000

export function createMoveOn(db: SqliteDatabase, now: () => number): MoveOn {
  const select = db.prepare('SELECT key FROM tasks WHERE task_id = ?')
  // The id beside the key: a key may belong to another task once its own is forgotten.
  const asExpected = "WHERE key = ? AND task_id = ? AND generation = ? AND fence = ? AND phase <> 'expired'"
  const standing = 'generation = ?, phase = ?, status_row = coalesce(?, status_row), status_answered = ?'
  const count = db.prepare(`UPDATE tasks SET generation = ? ${asExpected}`)
  const change = db.prepare(`UPDATE tasks SET ${standing}, changed = ? ${asExpected}`)
  const end = db.prepare(`
    UPDATE tasks SET ${standing}, changed = ?, ended = 1, lease_until = NULL, lease_holder = NULL ${asExpected}`)
  const keys = new Map<string, number>()

  function keyOf(taskId: string): number | undefined {
    const known = keys.get(taskId)
    if (known !== undefined) return known
    const found = (select.get(taskId) as { readonly key: number } | undefined)?.key
    if (found !== undefined) know(taskId, found)
    return found
  }

  function know(taskId: string, key: number): void {
    keys.set(taskId, key)
    for (const oldest of keys.keys()) {
      if (keys.size <= knownTasks) break
      keys.delete(oldest)
    }
  }

  function moveOn(taskId: string, after: number, batch: EventBatch, fence: number): number | undefined {
    const { events } = batch
    // What a caller says changes more than its writer knows of.
    if (events.some(({ type }) => type === 'message')) return undefined
    const key = keyOf(taskId)
    if (key === undefined) return undefined
    const generation = after + events.length
    if (events.every(leavesStanding)) {
      return count.run(generation, key, taskId, after, fence).changes ? key : gone(taskId)
    }
    const { phase, changed } = advance(beginning(0), events, now)
    const isLast = isOver(phase)
    const { changes } = (isLast ? end : change).run(
      generation,
      phase,
      statusRow(batch, after),
      isAnswered(events),
      changed,
      key,
      taskId,
      after,
      fence,
    )
    if (isLast || !changes) gone(taskId)
    return changes ? key : undefined
  }

  function gone(taskId: string): undefined {
    keys.delete(taskId)
  }

  return Object.assign(moveOn, { know })
}
