import type { SqliteDatabase } from './driver.ts'

/** Both answer the ids of the tasks they touched. */
export interface Retention {
  expire(endedBefore: number, limit: number): readonly string[]
  forget(endedBefore: number, limit: number): readonly string[]
}

export function createRetention(db: SqliteDatabase): Retention {
  const ended = db.prepare(`
    SELECT key, task_id FROM tasks WHERE ended = 1 AND phase <> 'expired' AND changed < ? ORDER BY changed LIMIT ?`)
  const tombstones = db.prepare(
    `SELECT key, task_id FROM tasks WHERE phase = 'expired' AND changed < ? ORDER BY changed LIMIT ?`,
  )
  const bury = db.prepare(`UPDATE tasks SET phase = 'expired', status_row = NULL WHERE key = ?`)
  const dropEvents = db.prepare('DELETE FROM events WHERE task = ?')
  const dropSnapshot = db.prepare('DELETE FROM snapshots WHERE task = ?')
  const dropClaims = db.prepare('DELETE FROM claims WHERE task = ?')
  const dropTask = db.prepare('DELETE FROM tasks WHERE key = ?')

  return {
    expire(endedBefore, limit) {
      return (ended.all(endedBefore, limit) as TaskRow[]).map(({ key, task_id }) => {
        dropEvents.run(key)
        dropSnapshot.run(key)
        bury.run(key)
        return task_id
      })
    },
    forget(endedBefore, limit) {
      return (tombstones.all(endedBefore, limit) as TaskRow[]).map(({ key, task_id }) => {
        dropClaims.run(key)
        dropTask.run(key)
        return task_id
      })
    },
  }
}

interface TaskRow {
  readonly key: number
  readonly task_id: string
}
