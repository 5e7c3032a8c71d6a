import type { StoredEvent, TaskEvent } from '../../core/protocol/events.ts'
import { readLimit, type Snapshot } from '../../core/tasks/log.ts'
import type { Database } from './connection.ts'
import { encodeText } from './sql-text.ts'
import type { Write } from './write-batches.ts'

export interface Events {
  /** Events after a generation, and the generation of the task at that time; undefined if there are no such events. */
  read(taskId: string, after: number): Promise<{ readonly page: readonly StoredEvent[]; readonly last?: number }>
  /** Looks up a write whose response was lost; returns the fence of its events if it was stored. */
  find(write: Write): Promise<{ readonly fence: number | null } | undefined>
}

export function createEvents(db: Database): Events {
  // The database sends no more than one page. The range is closed, because generations are dense: to sort an open range,
  // the database would read all the rest of the task for every page.
  const selectAfter = db.prepareUrgent<EventRow>(`
    SELECT generation, event, last FROM (
      SELECT generation, event, last, sum(octet_length(event)) OVER so_far - octet_length(event) AS before
      FROM (
        SELECT event.generation, event.event, task.generation AS last
        FROM ${db.name('tasks')} AS task JOIN ${db.name('events')} AS event ON event.task = task.key
        WHERE task.task_id = $1 AND event.generation > $2 AND event.generation <= $2 + ${readLimit.events}
      ) AS page
      WINDOW so_far AS (ORDER BY generation ROWS UNBOUNDED PRECEDING)
    ) AS weighed
    WHERE before < ${readLimit.bytes} ORDER BY generation`)
  const selectByToken = db.prepare<{ readonly fence: number | null }>(`
    SELECT fence FROM ${db.name('events')}
    WHERE task = (SELECT key FROM ${db.name('tasks')} WHERE task_id = $1) AND generation = $2 AND token = $3`)

  return {
    async read(taskId, after) {
      const rows = await selectAfter(encodeText(taskId), after)
      const page = rows.map(({ generation, event }) => ({ generation, event: JSON.parse(event) as TaskEvent }))
      return { page, last: rows[0]?.last }
    },
    async find({ taskId, after, token }) {
      const [row] = await selectByToken(encodeText(taskId), after + 1, token)
      return row
    },
  }
}

export interface Snapshots {
  newest(taskId: string): Promise<Snapshot | undefined>
  keep(snapshot: Snapshot): Promise<void>
}

export function createSnapshots(db: Database): Snapshots {
  const [tasks, snapshots] = [db.name('tasks'), db.name('snapshots')]
  const select = db.prepare<{ readonly snapshot: string }>(
    `SELECT snapshot FROM ${snapshots} WHERE task = (SELECT key FROM ${tasks} WHERE task_id = $1)`,
  )
  // The lock keeps the task from expiring meanwhile, which would leave a snapshot without a task.
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

interface EventRow {
  readonly generation: number
  readonly event: string
  readonly last: number
}
