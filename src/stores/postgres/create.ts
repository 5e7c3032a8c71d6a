import type { ClaimRecord, Created, LeaseRequest, NewTask } from '../../tasks/log.ts'
import { advanceHead, initialHead } from '../../tasks/task-head.ts'
import { type Database, Mismatch } from './connection.ts'
import { leaseEnd } from './leases.ts'
import { array, decodeText, encodeText, lines } from './sql-text.ts'
import { changeBy, claimColumns, eventColumns, skipped, type Write } from './write-batches.ts'

export type FindClaim = (owner: string, key: string) => Promise<ClaimRecord | undefined>

export interface ClaimedRow {
  readonly digest: string
  readonly task_id: string
  readonly generation: number
}

export function createFindClaim(db: Database): FindClaim {
  const select = db.prepare<ClaimedRow>(`
    SELECT claim.digest, task.task_id, claim.generation
    FROM ${db.name('claims')} AS claim JOIN ${db.name('tasks')} AS task ON task.key = claim.task
    WHERE claim.owner = $1 AND claim.key = $2`)

  return async (owner, key) => {
    const [row] = await select(encodeText(owner), encodeText(key))
    return row && decodeClaimed(row)
  }
}

export interface Create extends Write {
  readonly task: NewTask
  readonly lease: LeaseRequest
}

/** A task id can be used once. */
export interface Exists {
  readonly type: 'exists'
}

/** Begins several tasks in one statement; each is stored or refused for itself. */
export type CreateAll = (creates: readonly Create[], notice: string) => Promise<readonly (Created | Exists)[]>

export function createCreateAll(db: Database, channel: string): CreateAll {
  const tasks = db.name('tasks')
  const store = db.prepare<CreateRow>(`
    WITH write AS (
      SELECT * FROM unnest(string_to_array($1, E'\\n'), string_to_array($2, E'\\n'), string_to_array($3, E'\\n'),
        $4::int[], $5::int[], $6::bigint[], $7::text[], $8::int[], $9::bool[], string_to_array($10, E'\\n', ''),
        $11::bigint[], $12::bigint[], $13::bool[], string_to_array($14, E'\\n', ''), $15::float8[])
      WITH ORDINALITY AS write (task_id, context_id, owner, events, skipped, token, phase, status_at, answered, dialect,
        created, changed, is_over, holder, ttl, at)
    ),
    wanted AS (
      SELECT * FROM unnest($18::int[], string_to_array($19, E'\\n'), string_to_array($20, E'\\n'))
      WITH ORDINALITY AS wanted (write, key, digest, at)
    ),
    known AS MATERIALIZED (
      SELECT DISTINCT ON (wanted.write) wanted.write, claim.digest, task.task_id, claim.generation
      FROM wanted JOIN write ON write.at = wanted.write
      JOIN ${db.name('claims')} AS claim ON claim.owner = write.owner AND claim.key = wanted.key
      JOIN ${tasks} AS task ON task.key = claim.task
      ORDER BY wanted.write, wanted.at
    ),
    begun AS (
      INSERT INTO ${tasks} (task_id, context_id, owner, generation, phase, status_generation, status_answered, dialect,
        created, changed, ended, fence, lease_until, lease_holder)
      SELECT task_id, context_id, owner, events, phase, status_at, answered, dialect, created, changed, is_over, 1,
        CASE WHEN is_over THEN NULL ELSE ${leaseEnd('ttl')} END, CASE WHEN is_over THEN NULL ELSE holder END
      FROM write WHERE at NOT IN (SELECT write FROM known) ORDER BY at
      ON CONFLICT (task_id) DO NOTHING
      RETURNING key, task_id
    ),
    stored AS (SELECT begun.key, write.* FROM begun JOIN write USING (task_id)),
    told AS (
      INSERT INTO ${db.name('events')} (task, generation, event, fence, token)
      SELECT stored.key, (event.at - stored.skipped)::int, event.event, 1, stored.token
      FROM unnest(string_to_array($16, E'\\n'), $17::int[]) WITH ORDINALITY AS event (event, write, at)
      JOIN stored ON stored.at = event.write
    ),
    claimed AS (
      INSERT INTO ${db.name('claims')} (owner, key, digest, task, generation)
      SELECT stored.owner, wanted.key, wanted.digest, stored.key, 1
      FROM wanted JOIN stored ON stored.at = wanted.write ORDER BY stored.owner, wanted.key
    ),
    woken AS MATERIALIZED (SELECT pg_notify($21, $22) FROM begun LIMIT 1)
    SELECT CASE WHEN known.write IS NOT NULL THEN 'known' WHEN stored.key IS NULL THEN 'exists' ELSE 'stored' END AS type,
      known.digest, known.task_id, known.generation
    FROM write LEFT JOIN known ON known.write = write.at LEFT JOIN stored ON stored.at = write.at
    LEFT JOIN woken ON true ORDER BY write.at`)

  return async (creates, notice) => {
    const now = Date.now()
    const changes = creates.map(({ batch }) => ({
      ...advanceHead(initialHead(now), batch.events),
      ...changeBy(batch.events, 0),
    }))
    const rows = await store(
      lines(creates.map(({ taskId }) => taskId)),
      lines(creates.map(({ task }) => task.contextId)),
      lines(creates.map(({ task }) => task.owner)),
      array(creates.map(({ batch }) => batch.events.length)),
      array(skipped(creates)),
      array(creates.map(({ token }) => token)),
      array(changes.map(({ phase }) => phase)),
      array(changes.map(({ statusAt }) => statusAt)),
      array(changes.map(({ answered = false }) => answered)),
      lines(changes.map(({ dialect }) => dialect)),
      array(changes.map(() => now)),
      array(changes.map(({ changed }) => changed)),
      array(changes.map(({ isOver }) => isOver)),
      lines(creates.map(({ lease }) => lease.holder)),
      array(creates.map(({ lease }) => lease.ttl)),
      ...eventColumns(creates),
      ...claimColumns(creates),
      channel,
      notice,
    )
    return creates.map((create, index) => decodeCreated(create, rows[index]))
  }
}

export function decodeClaimed({ digest, task_id, generation }: ClaimedRow): ClaimRecord {
  return { digest: decodeText(digest), taskId: decodeText(task_id), generation }
}

interface CreateRow extends ClaimedRow {
  readonly type: 'stored' | 'known' | 'exists'
}

function decodeCreated({ batch }: Create, row: CreateRow | undefined): Created | Exists {
  if (!row) throw new Mismatch('the database answered less than it was asked')
  switch (row.type) {
    case 'exists':
      return { type: 'exists' }
    case 'known':
      return { type: 'known', claimed: decodeClaimed(row) }
    case 'stored':
      return { type: 'stored', generation: batch.events.length, lease: { fence: 1 } }
  }
}
