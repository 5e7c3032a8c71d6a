import type { Database } from './database.ts'
import { decodeText } from './text.ts'

/** Both answer the ids of the tasks they touched. What another replica is removing right now they leave to it. */
export interface Retention {
  expire(endedBefore: number, limit: number): Promise<readonly string[]>
  forget(endedBefore: number, limit: number): Promise<readonly string[]>
}

export function createRetention(db: Database): Retention {
  const tasks = db.name('tasks')
  const old = (condition: string) => `
    old AS MATERIALIZED (
      SELECT key, task_id FROM ${tasks} WHERE ${condition} AND changed < $1
      ORDER BY changed LIMIT $2 FOR UPDATE SKIP LOCKED
    )`
  const bury = db.prepare<TaskRow>(`
    WITH ${old("ended AND phase <> 'expired'")},
    events_gone AS (DELETE FROM ${db.name('events')} WHERE task IN (SELECT key FROM old)),
    snapshots_gone AS (DELETE FROM ${db.name('snapshots')} WHERE task IN (SELECT key FROM old))
    UPDATE ${tasks} AS task SET phase = 'expired', status_generation = NULL FROM old WHERE task.key = old.key
    RETURNING old.task_id`)
  const remove = db.prepare<TaskRow>(`
    WITH ${old("phase = 'expired'")},
    claims_gone AS (DELETE FROM ${db.name('claims')} WHERE task IN (SELECT key FROM old))
    DELETE FROM ${tasks} AS task USING old WHERE task.key = old.key
    RETURNING old.task_id`)

  return {
    expire: async (endedBefore, limit) => idsOf(await bury(Math.ceil(endedBefore), limit)),
    forget: async (endedBefore, limit) => idsOf(await remove(Math.ceil(endedBefore), limit)),
  }
}

interface TaskRow {
  readonly task_id: string
}

function idsOf(rows: readonly TaskRow[]): readonly string[] {
  return rows.map(({ task_id }) => decodeText(task_id))
}
