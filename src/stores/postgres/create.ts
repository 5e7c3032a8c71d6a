import { advanceHead, initialHead } from '../../core/tasks/fold.ts'
import type { ClaimRecord, Created } from '../../core/tasks/log.ts'
import { type Database, IncompatibleDatabase } from '../shared/database.ts'
import { firstSkill } from '../shared/event-batches.ts'
import type { Create, CreateAll, TaskExists } from '../shared/log-engine.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { taskRowChange } from '../shared/write-batches.ts'
import { leaseEndSql } from './leases.ts'
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

export type FindClaim = (owner: string, key: string) => Promise<ClaimRecord | undefined>

export interface ClaimRow {
  readonly digest: string
  readonly task_id: string
  readonly generation: number
}

export function createFindClaim(db: Database): FindClaim {
  const select = db.prepare<ClaimRow, { readonly owner: string; readonly key: string }>(
    ({ owner, key }) => `
    SELECT claim.digest, task.task_id, claim.generation
    FROM ${db.name('claims')} AS claim JOIN ${db.name('tasks')} AS task ON task.key = claim.task
    WHERE claim.owner = ${owner} AND claim.key = ${key}`,
  )

  return async (owner, key) => {
    const [row] = await select({ owner: encodeText(owner), key: encodeText(key) })
    return row && decodeClaim(row)
  }
}

export function createCreateAll(db: Database, channel: string): CreateAll {
  const tasks = db.name('tasks')
  const store = db.prepare<CreateRow, CreateValues>(
    (value) => `
    WITH write AS (
      SELECT * FROM unnest(${linesSql(value.taskIds)}, ${linesSql(value.contextIds)}, ${linesSql(value.owners)},
        ${value.sizes}::int[], ${value.offsets}::int[], ${value.tokens}::bigint[], ${value.phases}::text[],
        ${value.statusGenerations}::int[], ${value.answered}::bool[], ${linesSql(value.dialects, true)},
        ${value.created}::bigint[], ${value.changed}::bigint[], ${value.over}::bool[],
        ${linesSql(value.holders, true)}, ${value.ttls}::float8[], ${linesSql(value.skills, true)})
      WITH ORDINALITY AS write (task_id, context_id, owner, events, skipped, token, phase, status_at, answered, dialect,
        created, changed, is_over, holder, ttl, skill, at)
    ),
    new_claim AS (
      SELECT * FROM unnest(${value.claimWrites}::int[], ${linesSql(value.claimKeys)}, ${linesSql(value.claimDigests)})
      WITH ORDINALITY AS new_claim (write, key, digest, at)
    ),
    known AS MATERIALIZED (
      SELECT DISTINCT ON (new_claim.write) new_claim.write, claim.digest, task.task_id, claim.generation
      FROM new_claim JOIN write ON write.at = new_claim.write
      JOIN ${db.name('claims')} AS claim ON claim.owner = write.owner AND claim.key = new_claim.key
      JOIN ${tasks} AS task ON task.key = claim.task
      ORDER BY new_claim.write, new_claim.at
    ),
    created AS (
      INSERT INTO ${tasks} (task_id, context_id, owner, generation, phase, status_generation, status_answered, dialect,
        created, changed, ended, fence, lease_until, lease_holder, skill)
      SELECT task_id, context_id, owner, events, phase, status_at, answered, dialect, created, changed, is_over, 1,
        CASE WHEN is_over THEN NULL ELSE ${leaseEndSql('ttl')} END, CASE WHEN is_over THEN NULL ELSE holder END, skill
      FROM write WHERE at NOT IN (SELECT write FROM known) ORDER BY at
      ON CONFLICT (task_id) DO NOTHING
      RETURNING key, task_id
    ),
    stored AS (SELECT created.key, write.* FROM created JOIN write USING (task_id)),
    inserted AS (
      INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
      SELECT stored.key, (event.at - stored.skipped)::int, event.event, 1, stored.token
      FROM unnest(${linesSql(value.events)}, ${value.eventWrites}::int[]) WITH ORDINALITY AS event (event, write, at)
      JOIN stored ON stored.at = event.write
    ),
    claimed AS (
      INSERT INTO ${db.name('claims')} (owner, key, digest, task, generation)
      SELECT stored.owner, new_claim.key, new_claim.digest, stored.key, 1
      FROM new_claim JOIN stored ON stored.at = new_claim.write ORDER BY stored.owner, new_claim.key
    ),
    notified AS MATERIALIZED (SELECT pg_notify(${value.channel}, ${value.notification}) FROM created LIMIT 1)
    SELECT CASE WHEN known.write IS NOT NULL THEN 'known' WHEN stored.key IS NULL THEN 'exists' ELSE 'stored' END AS type,
      known.digest, known.task_id, known.generation
    FROM write LEFT JOIN known ON known.write = write.at LEFT JOIN stored ON stored.at = write.at
    LEFT JOIN notified ON true ORDER BY write.at`,
  )

  return async (creates, notification) => {
    const now = Date.now()
    const changes = creates.map(({ batch }) => ({
      ...advanceHead(initialHead(now), batch.events),
      ...taskRowChange(batch.events, 0),
    }))
    const rows = await store({
      ...writeColumns(creates, changes),
      contextIds: lines(creates.map(({ task }) => task.contextId)),
      owners: lines(creates.map(({ task }) => task.owner)),
      answered: array(changes.map(({ answered = false }) => answered)),
      dialects: lines(changes.map(({ dialect }) => dialect)),
      created: array(changes.map(() => now)),
      holders: lines(creates.map(({ lease }) => lease.holder)),
      ttls: array(creates.map(({ lease }) => lease.ttl)),
      skills: lines(creates.map(({ batch }) => firstSkill(batch.events))),
      ...eventColumns(creates),
      ...claimColumns(creates),
      channel,
      notification,
    })
    return creates.map((create, index) => decodeCreated(create, rows[index]))
  }
}

export function decodeClaim({ digest, task_id, generation }: ClaimRow): ClaimRecord {
  return { digest: decodeText(digest), taskId: decodeText(task_id), generation }
}

interface CreateValues extends WriteColumns, EventColumns, ClaimColumns, NotificationValues {
  readonly contextIds: string
  readonly owners: string
  readonly dialects: string
  readonly created: string
  readonly holders: string
  readonly ttls: string
  readonly skills: string
}

interface CreateRow extends ClaimRow {
  readonly type: 'stored' | 'known' | 'exists'
}

function decodeCreated({ batch }: Create, row: CreateRow | undefined): Created | TaskExists {
  if (!row) throw new IncompatibleDatabase('the database returned fewer rows than expected')
  switch (row.type) {
    case 'exists':
      return { type: 'exists' }
    case 'known':
      return { type: 'known', claimed: decodeClaim(row) }
    case 'stored':
      return { type: 'stored', generation: batch.events.length, lease: { fence: 1 } }
  }
}
