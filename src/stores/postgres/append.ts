import { defined } from '../../core/base/json.ts'
import type { Appended } from '../../core/tasks/log.ts'
import { type Database, IncompatibleDatabase } from '../shared/database.ts'
import type { Append, AppendAll } from '../shared/log-engine.ts'
import { taskRowChange } from '../shared/write-batches.ts'
import { type ClaimRow, decodeClaim } from './create.ts'
import { isFreeSql, leaseEndSql } from './leases.ts'
import { array, lines, linesSql } from './sql-text.ts'
import {
  type ClaimColumns,
  claimColumns,
  type EventColumns,
  eventColumns,
  type NotificationValues,
  type WriteColumns,
  writeColumns,
} from './write-columns.ts'

export function createAppendAll(db: Database, channel: string): AppendAll {
  const tasks = db.name('tasks')
  // The rows are locked first, in the same order by every statement, so that the checks stay valid and no deadlock is
  // possible. Claims and events are inserted only for stored appends. If another statement claims the same key at the
  // same time, the whole statement fails, and its retry sees the claim. The token of an append that takes over the lease
  // of another holder is negative, so that `Events.find` can tell.
  const store = db.prepare<AppendRow, AppendValues>(
    (value) => `
    WITH write AS (
      SELECT * FROM unnest(${linesSql(value.taskIds)}, ${value.afters}::int[], ${value.fences}::int[],
        ${value.sizes}::int[], ${value.offsets}::int[], ${value.tokens}::bigint[], ${value.phases}::text[],
        ${value.statusGenerations}::int[], ${value.answered}::bool[], ${linesSql(value.dialects, true)},
        ${value.changed}::bigint[], ${value.over}::bool[], ${linesSql(value.holders, true)}, ${value.ttls}::float8[])
      WITH ORDINALITY AS write (task_id, after, fence, events, skipped, token, phase, status_at, answered, dialect,
        changed, is_over, holder, ttl, at)
    ),
    new_claim AS (
      SELECT * FROM unnest(${value.claimWrites}::int[], ${linesSql(value.claimKeys)}, ${linesSql(value.claimDigests)})
      WITH ORDINALITY AS new_claim (write, key, digest, at)
    ),
    locked AS MATERIALIZED (
      SELECT key, task_id, owner, generation, phase, fence,
        NOT ended AND ${isFreeSql} AS is_free, lease_holder IS NOT NULL AS is_held
      FROM ${tasks} WHERE task_id = ANY ((SELECT ${linesSql(value.taskIds)})::text[])
      ORDER BY key FOR NO KEY UPDATE
    ),
    known AS (
      SELECT DISTINCT ON (new_claim.write) new_claim.write, claim.digest, task.task_id, claim.generation
      FROM new_claim JOIN write ON write.at = new_claim.write JOIN locked ON locked.task_id = write.task_id
      JOIN ${db.name('claims')} AS claim ON claim.owner = locked.owner AND claim.key = new_claim.key
      JOIN ${tasks} AS task ON task.key = claim.task
      ORDER BY new_claim.write, new_claim.at
    ),
    decided AS MATERIALIZED (
      SELECT write.*, locked.key, locked.owner, locked.generation,
        CASE
          WHEN locked.key IS NULL OR locked.phase = 'expired' THEN 'gone'
          WHEN known.write IS NOT NULL THEN 'known'
          WHEN write.fence <> locked.fence THEN 'fenced'
          WHEN write.after <> locked.generation THEN 'behind'
          ELSE 'stored'
        END AS type,
        CASE WHEN write.ttl IS NOT NULL AND locked.is_free AND NOT write.is_over THEN locked.fence + 1 END AS taken,
        locked.is_held,
        known.digest, known.task_id AS claimed_task, known.generation AS claimed_generation
      FROM write LEFT JOIN locked ON locked.task_id = write.task_id LEFT JOIN known ON known.write = write.at
    ),
    stored AS (SELECT * FROM decided WHERE type = 'stored'),
    updated AS (
      UPDATE ${tasks} AS task SET
        generation = stored.after + stored.events,
        phase = coalesce(stored.phase, task.phase),
        status_generation = coalesce(stored.status_at, task.status_generation),
        status_answered = coalesce(stored.answered, task.status_answered),
        dialect = coalesce(stored.dialect, task.dialect),
        changed = coalesce(stored.changed, task.changed),
        ended = task.ended OR stored.is_over,
        fence = coalesce(stored.taken, task.fence),
        lease_until = CASE WHEN stored.is_over THEN NULL WHEN stored.taken IS NULL THEN task.lease_until
          ELSE ${leaseEndSql('stored.ttl')} END,
        lease_holder = CASE WHEN stored.is_over THEN NULL WHEN stored.taken IS NULL THEN task.lease_holder
          ELSE stored.holder END
      FROM stored WHERE task.key = stored.key
    ),
    inserted AS (
      INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
      SELECT stored.key, stored.after + (event.at - stored.skipped)::int, event.event,
        coalesce(stored.taken, stored.fence),
        CASE WHEN stored.taken IS NOT NULL AND stored.is_held THEN -stored.token ELSE stored.token END
      FROM unnest(${linesSql(value.events)}, ${value.eventWrites}::int[]) WITH ORDINALITY AS event (event, write, at)
      JOIN stored ON stored.at = event.write
    ),
    claimed AS (
      INSERT INTO ${db.name('claims')} (owner, key, digest, task, generation)
      SELECT stored.owner, new_claim.key, new_claim.digest, stored.key, stored.after + 1
      FROM new_claim JOIN stored ON stored.at = new_claim.write ORDER BY stored.owner, new_claim.key
    ),
    notified AS MATERIALIZED (SELECT pg_notify(${value.channel}, ${value.notification}) FROM stored LIMIT 1)
    SELECT type, generation, taken, is_held, digest, claimed_task AS task_id, claimed_generation
    FROM decided LEFT JOIN notified ON true ORDER BY at`,
  )

  return async (appends, notification) => {
    const changes = appends.map(({ batch, after }) => taskRowChange(batch.events, after))
    const rows = await store({
      ...writeColumns(appends, changes),
      afters: array(appends.map(({ after }) => after)),
      fences: array(appends.map(({ fence }) => fence)),
      dialects: lines(changes.map(({ dialect }) => dialect)),
      holders: lines(appends.map(({ lease }) => lease?.holder)),
      ttls: array(appends.map(({ lease }) => lease?.ttl)),
      ...eventColumns(appends),
      ...claimColumns(appends),
      channel,
      notification,
    })
    return appends.map((append, index) => decodeAppended(append, rows[index]))
  }
}

interface AppendValues extends WriteColumns, EventColumns, ClaimColumns, NotificationValues {
  readonly afters: string
  readonly fences: string
  readonly dialects: string
  readonly holders: string
  readonly ttls: string
}

interface AppendRow extends Pick<ClaimRow, 'digest' | 'task_id'> {
  readonly type: Appended['type']
  readonly generation: number
  readonly taken: number | null
  /** Whether the task had a holder before, whose lease has expired if it was taken. */
  readonly is_held: boolean | null
  readonly claimed_generation: number
}

function decodeAppended({ after, batch }: Append, row: AppendRow | undefined): Appended {
  if (!row) throw new IncompatibleDatabase('the database returned fewer rows than expected')
  switch (row.type) {
    case 'gone':
    case 'fenced':
      return { type: row.type }
    case 'behind':
      return { type: 'behind', generation: row.generation }
    case 'known':
      return { type: 'known', claimed: decodeClaim({ ...row, generation: row.claimed_generation }) }
    case 'stored':
      return {
        type: 'stored',
        generation: after + batch.events.length,
        lease:
          row.taken === null ? undefined : defined({ fence: row.taken, isTakenOver: row.is_held ? true : undefined }),
      }
  }
}
