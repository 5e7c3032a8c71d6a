import type { Append } from './append.ts'
import type { Database } from './database.ts'
import { array, lines } from './text.ts'
import { changeBy, eventColumns, skipped } from './write.ts'

/**
 * Appends what the writers of tasks say, of which turns are made, in one statement that does little else. Says of each
 * whether it is stored; if not, the row was not as expected, and why is for the long way to find out.
 */
export type MoveOnAll = (appends: readonly Append[], notice: string) => Promise<readonly boolean[]>

/** Whether an append asks for nothing but its events to be stored. */
export function isPlain({ fence, lease, claims = [] }: Append): boolean {
  return fence !== undefined && !lease && claims.length === 0
}

export function createMoveOnAll(db: Database, channel: string): MoveOnAll {
  const tasks = db.name('tasks')
  const store = db.prepare<{ readonly at: number }>(`
    WITH stored AS MATERIALIZED (
      SELECT task.key, write.* FROM unnest(string_to_array($1, E'\\n'), $2::int[], $3::int[], $4::int[], $5::int[],
        $6::bigint[], $7::text[], $8::int[], $9::bool[], $10::bigint[], $11::bool[])
      WITH ORDINALITY AS write (task_id, after, fence, events, skipped, token, phase, status_at, answered, changed,
        is_over, at)
      JOIN ${tasks} AS task ON task.task_id = write.task_id
      WHERE task.generation = write.after AND task.fence = write.fence AND task.phase <> 'expired'
      ORDER BY task.key FOR NO KEY UPDATE OF task
    ),
    moved AS (
      UPDATE ${tasks} AS task SET
        generation = stored.after + stored.events,
        phase = coalesce(stored.phase, task.phase),
        status_generation = coalesce(stored.status_at, task.status_generation),
        status_answered = coalesce(stored.answered, task.status_answered),
        changed = coalesce(stored.changed, task.changed),
        ended = task.ended OR stored.is_over,
        lease_until = CASE WHEN stored.is_over THEN NULL ELSE task.lease_until END,
        lease_holder = CASE WHEN stored.is_over THEN NULL ELSE task.lease_holder END
      FROM stored WHERE task.key = stored.key
    ),
    told AS (
      INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
      SELECT stored.key, stored.after + (event.at - stored.skipped)::int, event.event, stored.fence, stored.token
      FROM unnest(string_to_array($12, E'\\n'), $13::int[]) WITH ORDINALITY AS event (event, write, at)
      JOIN stored ON stored.at = event.write
    ),
    woken AS MATERIALIZED (SELECT pg_notify($14, $15) FROM stored LIMIT 1)
    SELECT at::int FROM stored LEFT JOIN woken ON true`)

  return async (appends, notice) => {
    const changes = appends.map(({ batch, after }) => changeBy(batch.events, after))
    const rows = await store(
      lines(appends.map(({ taskId }) => taskId)),
      array(appends.map(({ after }) => after)),
      array(appends.map(({ fence }) => fence)),
      array(appends.map(({ batch }) => batch.events.length)),
      array(skipped(appends)),
      array(appends.map(({ token }) => token)),
      array(changes.map(({ phase }) => phase)),
      array(changes.map(({ statusAt }) => statusAt)),
      array(changes.map(({ answered }) => answered)),
      array(changes.map(({ changed }) => changed)),
      array(changes.map(({ isOver }) => isOver)),
      ...eventColumns(appends),
      channel,
      notice,
    )
    const stored = new Set(rows.map(({ at }) => at))
    return appends.map((_, index) => stored.has(index + 1))
  }
}
