import { keepsTaskRow } from '../event-rows.ts'
import type { Append } from './append.ts'
import type { Database } from './connection.ts'
import { array, encodeText, lines } from './sql-text.ts'
import { changeBy, eventColumns, skipped } from './write-batches.ts'

/** Whether an append asks for nothing but its events to be stored. */
export function isPlain({ fence, lease, claims = [] }: Append): boolean {
  return fence !== undefined && !lease && claims.length === 0
}

/**
 * Appends what the writers of tasks say, of which turns are made, in one statement that does little else. Says of each
 * whether it is stored; if not, the row was not as expected, and why is for the long way to find out.
 */
export type AppendByWriter = (appends: readonly Append[], notice: string) => Promise<readonly boolean[]>

export function createAppendByWriter(db: Database, channel: string): AppendByWriter {
  const tasks = db.name('tasks')
  // What counts is checked by the update, whose row stays as it is from then on. To lock the rows in order first, as the
  // long way does, would cost a third more; only a group of messages for several of these tasks can get in its way.
  const store = db.prepare<{ readonly stored: string | null }>(`
    WITH found AS MATERIALIZED (
      SELECT task.key, write.* FROM unnest(string_to_array($1, E'\\n'), $2::int[], $3::int[], $4::int[], $5::int[],
        $6::bigint[], $7::text[], $8::int[], $9::bool[], $10::bigint[], $11::bool[])
      WITH ORDINALITY AS write (task_id, after, fence, events, skipped, token, phase, status_at, answered, changed,
        is_over, at)
      JOIN ${tasks} AS task ON task.task_id = write.task_id
      ORDER BY task.key
    ),
    stored AS (
      UPDATE ${tasks} AS task SET
        generation = found.after + found.events,
        phase = coalesce(found.phase, task.phase),
        status_generation = coalesce(found.status_at, task.status_generation),
        status_answered = coalesce(found.answered, task.status_answered),
        changed = coalesce(found.changed, task.changed),
        ended = task.ended OR found.is_over,
        lease_until = CASE WHEN found.is_over THEN NULL ELSE task.lease_until END,
        lease_holder = CASE WHEN found.is_over THEN NULL ELSE task.lease_holder END
      FROM found
      WHERE task.key = found.key AND task.generation = found.after AND task.fence = found.fence
        AND task.phase <> 'expired'
      RETURNING found.at, found.key, found.after, found.fence, found.skipped, found.token
    ),
    told AS (
      INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
      SELECT stored.key, stored.after + (event.at - stored.skipped)::int, event.event, stored.fence, stored.token
      FROM unnest(string_to_array($12, E'\\n'), $13::int[]) WITH ORDINALITY AS event (event, write, at)
      JOIN stored ON stored.at = event.write
    ),
    woken AS MATERIALIZED (SELECT pg_notify($14, $15) FROM stored LIMIT 1)
    SELECT string_agg(stored.at::text, ' ') AS stored FROM stored LEFT JOIN woken ON true`)

  const [addChunk, addChunks] = [createAddChunk(db, channel), createAddChunks(db, channel)]
  // The same for one task, as most groups are in quiet times; it is almost twice as fast.
  const storeOne = db.prepareUrgent(`
    WITH stored AS (
      UPDATE ${tasks} SET
        generation = generation + $4,
        phase = coalesce($6, phase),
        status_generation = coalesce($7, status_generation),
        status_answered = coalesce($8, status_answered),
        changed = coalesce($9, changed),
        ended = ended OR $10,
        lease_until = CASE WHEN $10 THEN NULL ELSE lease_until END,
        lease_holder = CASE WHEN $10 THEN NULL ELSE lease_holder END
      WHERE task_id = $1 AND generation = $2 AND fence = $3 AND phase <> 'expired'
      RETURNING key
    ),
    told AS (
      INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
      SELECT stored.key, $2 + event.at::int, event.event, $3, $5
      FROM stored, unnest(string_to_array($11, E'\\n')) WITH ORDINALITY AS event (event, at)
    )
    SELECT pg_notify($12, $13) FROM stored`)

  async function moveOn({ taskId, after, fence = 0, batch, token }: Append, notice: string): Promise<boolean> {
    const { phase, statusAt, answered, changed, isOver } = changeBy(batch.events, after)
    const rows = await storeOne(
      encodeText(taskId),
      after,
      fence,
      batch.events.length,
      token,
      phase ?? null,
      statusAt ?? null,
      answered ?? null,
      changed ?? null,
      isOver,
      batch.rows.map(({ text }) => text).join('\n'),
      channel,
      notice,
    )
    return rows.length > 0
  }

  return async (appends, notice) => {
    const [only, ...others] = appends
    if (only && others.length === 0) return [await (isChunk(only) ? addChunk : moveOn)(only, notice)]
    if (appends.every(isChunk)) return await addChunks(appends, notice)
    const changes = appends.map(({ batch, after }) => changeBy(batch.events, after))
    const [row] = await store(
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
    const stored = new Set(row?.stored?.split(' ').map(Number))
    return appends.map((_, index) => stored.has(index + 1))
  }
}

/** The same for one, as it is while few tasks stream: readers in other replicas wait for it. */
function createAddChunk(db: Database, channel: string): (chunk: Append, notice: string) => Promise<boolean> {
  const store = db.prepareUrgent(`
    WITH stored AS (
      UPDATE ${db.name('tasks')} SET generation = $2 + 1
      WHERE task_id = $1 AND generation = $2 AND fence = $3 AND phase <> 'expired'
      RETURNING key
    )
    INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
    SELECT key, $2 + 1, $5, $3, $4 FROM stored
    RETURNING pg_notify($6, $7)`)

  return async ({ taskId, after, fence = 0, token, batch }, notice) => {
    const text = batch.rows[0]?.text ?? ''
    const rows = await store(encodeText(taskId), after, fence, token, text, channel, notice)
    return rows.length > 0
  }
}

/** What most groups are while tasks stream. It takes a third less time than the statement for all that writers say. */
function createAddChunks(db: Database, channel: string): AddChunks {
  const store = db.prepare<{ readonly stored: string | null }>(`
    WITH write AS MATERIALIZED (
      SELECT * FROM unnest(string_to_array($1, E'\\n'), $2::int[], $3::int[], $4::bigint[], string_to_array($5, E'\\n'))
      WITH ORDINALITY AS write (task_id, after, fence, token, event, at)
    ),
    stored AS (
      UPDATE ${db.name('tasks')} AS task SET generation = write.after + 1
      FROM write
      WHERE task.task_id = write.task_id AND task.generation = write.after AND task.fence = write.fence
        AND task.phase <> 'expired'
      RETURNING task.key, write.after, write.fence, write.token, write.event, write.at
    ),
    told AS (
      INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
      SELECT key, after + 1, event, fence, token FROM stored
    ),
    woken AS MATERIALIZED (SELECT pg_notify($6, $7) FROM stored LIMIT 1)
    SELECT string_agg(stored.at::text, ' ') AS stored FROM stored LEFT JOIN woken ON true`)

  return async (chunks, notice) => {
    const [row] = await store(
      lines(chunks.map(({ taskId }) => taskId)),
      array(chunks.map(({ after }) => after)),
      array(chunks.map(({ fence }) => fence)),
      array(chunks.map(({ token }) => token)),
      // JSON has no line breaks of its own, so the lines need no quoting.
      chunks.map(({ batch: { rows } }) => rows[0]?.text).join('\n'),
      channel,
      notice,
    )
    const stored = new Set(row?.stored?.split(' ').map(Number))
    return chunks.map((_, index) => stored.has(index + 1))
  }
}

/** Says of each whether it is stored. */
type AddChunks = (chunks: readonly Append[], notice: string) => Promise<readonly boolean[]>

/** Whether an append is one event that changes nothing of how its task stands, as the chunks of a stream are. */
function isChunk({ batch: { events } }: Append): boolean {
  return events.length === 1 && events.every(keepsTaskRow)
}
