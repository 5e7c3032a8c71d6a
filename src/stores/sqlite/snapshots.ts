import type { Snapshot } from '../../tasks/log.ts'
import type { SqliteDatabase } from './connection.ts'

export interface Snapshots {
  newest(taskId: string): Snapshot | undefined
  keep(taskId: string, generation: number, json: string): void
}

export function createSnapshots(db: SqliteDatabase): Snapshots {
  const select = db.prepare('SELECT snapshot FROM snapshots WHERE task = (SELECT key FROM tasks WHERE task_id = ?)')
  const upsert = db.prepare(`
    INSERT INTO snapshots (task, generation, snapshot)
    SELECT key, ?, ? FROM tasks WHERE task_id = ? AND phase <> 'expired'
    ON CONFLICT (task) DO UPDATE SET generation = excluded.generation, snapshot = excluded.snapshot
    WHERE excluded.generation > snapshots.generation`)

  return {
    newest(taskId) {
      const row = select.get(taskId) as { snapshot: string } | undefined
      return row && (JSON.parse(row.snapshot) as Snapshot)
    },
    keep(taskId, generation, json) {
      upsert.run(generation, json, taskId)
    },
  }
}
