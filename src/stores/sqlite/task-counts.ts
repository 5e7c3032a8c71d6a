import { isTask } from '../../core/protocol/states.ts'
import type { TaskHead } from '../../core/tasks/log.ts'
import type { SqliteDatabase } from './connection.ts'

/**
 * How many tasks of an owner are in a phase. Every change of a phase is counted in the transaction that stores it. Not by
 * triggers: SQLite then keeps a journal for each statement, which costs more than the statement.
 */
export interface TaskCounts {
  /** Counts a task that leaves a phase or enters one. */
  move(owner: string, from: TaskHead['phase'], to: TaskHead['phase']): void
  /** Removes what is left of an owner without tasks. */
  clean(owner: string): void
}

export function createTaskCounts(db: SqliteDatabase): TaskCounts {
  const add = db.prepare('UPDATE task_counts SET total = total + ? WHERE owner = ? AND phase = ?')
  const insert = db.prepare('INSERT INTO task_counts (owner, phase, total) VALUES (?, ?, ?)')
  const removeEmpty = db.prepare('DELETE FROM task_counts WHERE owner = ? AND total = 0')

  function count(owner: string, phase: TaskHead['phase'], change: number): void {
    if (phase === 'expired' || !isTask(phase)) return
    if (!add.run(change, owner, phase).changes) insert.run(owner, phase, change)
  }

  return {
    move(owner, from, to) {
      if (from === to) return
      count(owner, from, -1)
      count(owner, to, 1)
    },
    clean: (owner) => void removeEmpty.run(owner),
  }
}
