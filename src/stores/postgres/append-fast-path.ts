import type { Database } from '../shared/database.ts'
import { keepsTaskRow } from '../shared/event-batches.ts'
import type { Append, AppendByWriter } from '../shared/log-engine.ts'
import { encodeText } from '../shared/sql-text.ts'
import { taskRowChange } from '../shared/write-batches.ts'
import { array, lines, linesSql } from './sql-text.ts'
import {
  type EventColumns,
  eventColumns,
  type NotificationValues,
  type WriteColumns,
  writeColumns,
} from './write-columns.ts'

export function createAppendByWriter(db: Database, channel: string): AppendByWriter {
  const tasks = db.name('tasks')
  // The update itself checks generation and fence, and locks the row. Locking all rows in order first, as `AppendAll`
  // does, would cost a third more; only a batch of messages to several of these tasks can cause a deadlock.
  const store = db.prepare<StoredRow, WriteColumns & EventColumns & WriterColumns>(
    (value) => `
    WITH target AS MATERIALIZED (
      SELECT task.key, write.* FROM unnest(${linesSql(value.taskIds)}, ${value.afters}::int[], ${value.fences}::int[],
        ${value.sizes}::int[], ${value.offsets}::int[], ${value.tokens}::bigint[], ${value.phases}::text[],
        ${value.statusGenerations}::int[], ${value.answered}::bool[], ${value.changed}::bigint[], ${value.over}::bool[])
      WITH ORDINALITY AS write (task_id, after, fence, events, skipped, token, phase, status_at, answered, changed,
        is_over, at)
      JOIN ${tasks} AS task ON task.task_id = write.task_id
      ORDER BY task.key
    ),
    stored AS (
      UPDATE ${tasks} AS task SET
        generation = target.after + target.events,
        phase = coalesce(target.phase, task.phase),
        status_generation = coalesce(target.status_at, task.status_generation),
        status_answered = coalesce(target.answered, task.status_answered),
        changed = coalesce(target.changed, task.changed),
        ended = task.ended OR target.is_over,
        lease_until = CASE WHEN target.is_over THEN NULL ELSE task.lease_until END,
        lease_holder = CASE WHEN target.is_over THEN NULL ELSE task.lease_holder END
      FROM target
      WHERE task.key = target.key AND task.generation = target.after AND task.fence = target.fence
        AND task.phase <> 'expired'
      RETURNING target.at, target.key, target.after, target.fence, target.skipped, target.token
    ),
    inserted AS (
      INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
      SELECT stored.key, stored.after + (event.at - stored.skipped)::int, event.event, stored.fence, stored.token
      FROM unnest(${linesSql(value.events)}, ${value.eventWrites}::int[]) WITH ORDINALITY AS event (event, write, at)
      JOIN stored ON stored.at = event.write
    ),
    notified AS MATERIALIZED (SELECT pg_notify(${value.channel}, ${value.notification}) FROM stored LIMIT 1)
    SELECT string_agg(stored.at::text, ' ') AS stored FROM stored LEFT JOIN notified ON true`,
  )

  const [appendChunk, appendChunks] = [createAppendChunk(db, channel), createAppendChunks(db, channel)]
  // The same for one task, which most batches are under low load; it is almost twice as fast.
  const storeOne = db.prepareUrgent<unknown, OneAppendValues>(
    (value) => `
    WITH stored AS (
      UPDATE ${tasks} SET
        generation = generation + ${value.size},
        phase = coalesce(${value.phase}, phase),
        status_generation = coalesce(${value.statusGeneration}, status_generation),
        status_answered = coalesce(${value.answered}, status_answered),
        changed = coalesce(${value.changed}, changed),
        ended = ended OR ${value.isOver},
        lease_until = CASE WHEN ${value.isOver} THEN NULL ELSE lease_until END,
        lease_holder = CASE WHEN ${value.isOver} THEN NULL ELSE lease_holder END
      WHERE task_id = ${value.taskId} AND generation = ${value.after} AND fence = ${value.fence} AND phase <> 'expired'
      RETURNING key
    ),
    inserted AS (
      INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
      SELECT stored.key, ${value.after} + event.at::int, event.event, ${value.fence}, ${value.token}
      FROM stored, unnest(${linesSql(value.events)}) WITH ORDINALITY AS event (event, at)
    )
    SELECT pg_notify(${value.channel}, ${value.notification}) FROM stored`,
  )

  async function appendOne({ taskId, after, fence = 0, batch, token }: Append, notification: string): Promise<boolean> {
    const { phase, statusAt, answered, changed, isOver } = taskRowChange(batch.events, after)
    const rows = await storeOne({
      taskId: encodeText(taskId),
      after,
      fence,
      size: batch.events.length,
      token,
      phase: phase ?? null,
      statusGeneration: statusAt ?? null,
      answered: answered ?? null,
      changed: changed ?? null,
      isOver,
      events: batch.rows.map(({ text }) => text).join('\n'),
      channel,
      notification,
    })
    return rows.length > 0
  }

  return async (appends, notification) => {
    const [only, ...others] = appends
    if (only && others.length === 0) return [await (isChunk(only) ? appendChunk : appendOne)(only, notification)]
    if (appends.every(isChunk)) return await appendChunks(appends, notification)
    const changes = appends.map(({ batch, after }) => taskRowChange(batch.events, after))
    const [row] = await store({
      ...writeColumns(appends, changes),
      ...writerColumns(appends),
      ...eventColumns(appends),
      channel,
      notification,
    })
    const stored = new Set(row?.stored?.split(' ').map(Number))
    return appends.map((_, index) => stored.has(index + 1))
  }
}

/** Appends one chunk, the usual case while few tasks stream. Readers in other replicas wait for it. */
function createAppendChunk(db: Database, channel: string): (chunk: Append, notification: string) => Promise<boolean> {
  const store = db.prepareUrgent<unknown, ChunkValues>(
    ({ taskId, after, fence, token, event, channel, notification }) => `
    WITH stored AS (
      UPDATE ${db.name('tasks')} SET generation = ${after} + 1
      WHERE task_id = ${taskId} AND generation = ${after} AND fence = ${fence} AND phase <> 'expired'
      RETURNING key
    )
    INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
    SELECT key, ${after} + 1, ${event}, ${fence}, ${token} FROM stored
    RETURNING pg_notify(${channel}, ${notification})`,
  )

  return async ({ taskId, after, fence = 0, token, batch }, notification) => {
    const event = batch.rows[0]?.text ?? ''
    const rows = await store({ taskId: encodeText(taskId), after, fence, token, event, channel, notification })
    return rows.length > 0
  }
}

/** Appends one chunk to each of several tasks, the usual batch while tasks stream. A third faster than the general statement. */
function createAppendChunks(db: Database, channel: string): AppendChunks {
  const store = db.prepare<StoredRow, ChunkColumns>(
    ({ taskIds, afters, fences, tokens, events, channel, notification }) => `
    WITH write AS MATERIALIZED (
      SELECT * FROM unnest(${linesSql(taskIds)}, ${afters}::int[], ${fences}::int[], ${tokens}::bigint[],
        ${linesSql(events)})
      WITH ORDINALITY AS write (task_id, after, fence, token, event, at)
    ),
    stored AS (
      UPDATE ${db.name('tasks')} AS task SET generation = write.after + 1
      FROM write
      WHERE task.task_id = write.task_id AND task.generation = write.after AND task.fence = write.fence
        AND task.phase <> 'expired'
      RETURNING task.key, write.after, write.fence, write.token, write.event, write.at
    ),
    inserted AS (
      INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
      SELECT key, after + 1, event, fence, token FROM stored
    ),
    notified AS MATERIALIZED (SELECT pg_notify(${channel}, ${notification}) FROM stored LIMIT 1)
    SELECT string_agg(stored.at::text, ' ') AS stored FROM stored LEFT JOIN notified ON true`,
  )

  return async (chunks, notification) => {
    const [row] = await store({
      taskIds: lines(chunks.map(({ taskId }) => taskId)),
      ...writerColumns(chunks),
      tokens: array(chunks.map(({ token }) => token)),
      // JSON contains no line breaks, so the lines need no quoting.
      events: chunks.map(({ batch: { rows } }) => rows[0]?.text).join('\n'),
      channel,
      notification,
    })
    const stored = new Set(row?.stored?.split(' ').map(Number))
    return chunks.map((_, index) => stored.has(index + 1))
  }
}

/** The generation and the fence that each append expects, as columns. */
function writerColumns(appends: readonly Append[]) {
  return { afters: array(appends.map(({ after }) => after)), fences: array(appends.map(({ fence }) => fence)) }
}

type WriterColumns = ReturnType<typeof writerColumns> & NotificationValues

interface StoredRow {
  /** The numbers of the stored writes. */
  readonly stored: string | null
}

interface OneAppendValues extends NotificationValues {
  readonly taskId: string
  readonly after: number
  readonly fence: number
  readonly size: number
  readonly token: number
  readonly phase: string | null
  readonly statusGeneration: number | null
  readonly answered: boolean | null
  readonly changed: number | null
  readonly isOver: boolean
  readonly events: string
}

interface ChunkValues extends NotificationValues {
  readonly taskId: string
  readonly after: number
  readonly fence: number
  readonly token: number
  readonly event: string
}

interface ChunkColumns extends NotificationValues {
  readonly taskIds: string
  readonly afters: string
  readonly fences: string
  readonly tokens: string
  readonly events: string
}

/** Returns for each chunk whether it was stored. */
type AppendChunks = (chunks: readonly Append[], notification: string) => Promise<readonly boolean[]>

/** Whether an append is a single event that changes only the generation of its task, such as an artifact chunk. */
function isChunk({ batch: { events } }: Append): boolean {
  return events.length === 1 && events.every(keepsTaskRow)
}
