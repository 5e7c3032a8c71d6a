import type { Snapshot } from '../../tasks/log.ts'
import type { Database } from './database.ts'
import { encodeText } from './text.ts'

export interface Snapshots {
  newest(taskId: string): Promise<Snapshot | undefined>
  keep(snapshot: Snapshot): Promise<void>
}

export function createSnapshots(db: Database): Snapshots {
  const [tasks, snapshots] = [db.name('tasks'), db.name('snapshots')]
  const select = db.prepare<{ readonly snapshot: string }>(
    `SELECT snapshot FROM ${snapshots} WHERE task = (SELECT key FROM ${tasks} WHERE task_id = $1)`,
  )
  // The lock keeps the task from expiring in between, which would leave a snapshot of nothing.
  const upsert = db.prepare(`
    WITH task AS MATERIALIZED (
      SELECT key FROM ${tasks} WHERE task_id = $1 AND phase <> 'expired' FOR KEY SHARE
    )
    INSERT INTO ${snapshots} AS kept (task, generation, snapshot) SELECT key, $2, $3 FROM task
    ON CONFLICT (task) DO UPDATE SET generation = excluded.generation, snapshot = excluded.snapshot
    WHERE excluded.generation > kept.generation`)

  return {
    async newest(taskId) {
      const [row] = await select(encodeText(taskId))
      return row && (JSON.parse(row.snapshot) as Snapshot)
    },
    async keep(snapshot) {
      await upsert(encodeText(snapshot.taskId), snapshot.generation, JSON.stringify(snapshot))
    },
  }
}
