import type { TaskEvent } from '../../core/protocol/events.ts'
import { readLimit, type Snapshot } from '../../core/tasks/log.ts'
import type { Database } from '../shared/database.ts'
import type { Events, Snapshots } from '../shared/log-engine.ts'
import { encodeText } from '../shared/sql-text.ts'

export function createEvents(db: Database): Events {
  // The database sends no more than one page. The range is closed, because generations are dense: to sort an open range,
  // the database would read all the rest of the task for every page.
  const selectAfter = db.prepareUrgent<EventRow, { readonly taskId: string; readonly after: number }>(
    ({ taskId, after }) => `
    SELECT generation, event, last FROM (
      SELECT generation, event, last, sum(octet_length(event)) OVER so_far - octet_length(event) AS before
      FROM (
        SELECT event.generation, event.event, task.generation AS last
        FROM ${db.name('tasks')} AS task JOIN ${db.name('events')} AS event ON event.task = task.key
        WHERE task.task_id = ${taskId} AND event.generation > ${after} AND event.generation <= ${after} + ${readLimit.events}
      ) AS page
      WINDOW so_far AS (ORDER BY generation ROWS UNBOUNDED PRECEDING)
    ) AS weighed
    WHERE before < ${readLimit.bytes} ORDER BY generation`,
  )
  const selectByToken = db.prepare<
    TokenRow,
    { readonly taskId: string; readonly after: number; readonly token: number }
  >(
    ({ taskId, after, token }) => `
    SELECT fence, token < 0 AS is_taken_over FROM ${db.name('events')}
    WHERE task = (SELECT key FROM ${db.name('tasks')} WHERE task_id = ${taskId}) AND generation = ${after} + 1
      AND abs(token) = ${token}`,
  )

  return {
    async read(taskId, after) {
      const rows = await selectAfter({ taskId: encodeText(taskId), after })
      const page = rows.map(({ generation, event }) => ({ generation, event: JSON.parse(event) as TaskEvent }))
      return { page, last: rows[0]?.last }
    },
    async find({ taskId, after, token }) {
      const [row] = await selectByToken({ taskId: encodeText(taskId), after, token })
      return row && { fence: row.fence, isTakenOver: row.is_taken_over }
    },
  }
}

export function createSnapshots(db: Database): Snapshots {
  const [tasks, snapshots] = [db.name('tasks'), db.name('snapshots')]
  const select = db.prepare<{ readonly snapshot: string }, { readonly taskId: string }>(
    ({ taskId }) =>
      `SELECT snapshot FROM ${snapshots} WHERE task = (SELECT key FROM ${tasks} WHERE task_id = ${taskId})`,
  )
  // The lock keeps the task from expiring meanwhile, which would leave a snapshot without a task.
  const upsert = db.prepare<
    unknown,
    { readonly taskId: string; readonly generation: number; readonly snapshot: string }
  >(
    ({ taskId, generation, snapshot }) => `
    WITH task AS MATERIALIZED (
      SELECT key FROM ${tasks} WHERE task_id = ${taskId} AND phase <> 'expired' FOR KEY SHARE
    )
    INSERT INTO ${snapshots} AS kept (task, generation, snapshot) SELECT key, ${generation}, ${snapshot} FROM task
    ON CONFLICT (task) DO UPDATE SET generation = excluded.generation, snapshot = excluded.snapshot
    WHERE excluded.generation > kept.generation`,
  )

  return {
    async newest(taskId) {
      const [row] = await select({ taskId: encodeText(taskId) })
      return row && (JSON.parse(row.snapshot) as Snapshot)
    },
    async keep(snapshot) {
      await upsert({
        taskId: encodeText(snapshot.taskId),
        generation: snapshot.generation,
        snapshot: JSON.stringify(snapshot),
      })
    },
  }
}

interface TokenRow {
  readonly fence: number | null
  readonly is_taken_over: boolean
}

interface EventRow {
  readonly generation: number
  readonly event: string
  readonly last: number
}
