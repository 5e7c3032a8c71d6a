import { defined } from '../../core/base/json.ts'
import { advanceHead, initialHead } from '../../core/tasks/fold.ts'
import type { Appended, ClaimRecord } from '../../core/tasks/log.ts'
import type { Database, RunQuery } from '../shared/database.ts'
import { firstSkill } from '../shared/event-batches.ts'
import type { Append, AppendAll, AppendByWriter, Create, CreateAll } from '../shared/log-engine.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { taskRowChange, type Write } from '../shared/write-batches.ts'
import { clockSql, encodeId, encodeKey, rowsOf, rowsSql } from './sql-text.ts'
import { createTaskCounts } from './task-counts.ts'

/** Statements that several writes share. Each takes all of its rows as one value. */
export interface WriteStatements {
  readonly createAll: CreateAll
  readonly appendAll: AppendAll
  readonly appendByWriter: AppendByWriter
  findClaim(owner: string, key: string): Promise<ClaimRecord | undefined>
}

interface Rows {
  readonly rows: string
}

/** One transaction per batch: it locks the rows of the tasks in the order of their keys, decides, and writes. */
export function createWrites(db: Database): WriteStatements {
  const [tasks, events, claims] = [db.name('tasks'), db.name('events'), db.name('claims')]
  const counts = createTaskCounts(db)
  const claimColumns = { owner: 'id', claim_key: 'id', digest: 'id', task_id: 'id', generation: 'int' } as const

  async function findClaims(
    query: RunQuery,
    wanted: readonly WantedClaim[],
  ): Promise<ReadonlyMap<string, ClaimRecord>> {
    if (wanted.length === 0) return new Map()
    const rows = await query<ClaimRow, Rows>(
      (value) => `
      SELECT claim.owner, claim.claim_key, claim.digest, task.task_id, claim.generation
      FROM ${rowsSql(value.rows, { owner: 'id', claim_key: 'id' })} AS wanted
      STRAIGHT_JOIN ${claims} AS claim ON claim.owner = wanted.owner AND claim.claim_key = wanted.claim_key
      STRAIGHT_JOIN ${tasks} AS task ON task.task_key = claim.task`,
      { rows: rowsOf(wanted, ({ owner, key }) => ({ owner, claim_key: key })) },
    )
    return new Map(rows.map((row) => [claimName(row.owner, row.claim_key), decodeClaim(row)]))
  }

  async function insertClaims(query: RunQuery, writes: readonly (Write & { readonly owner: string })[]): Promise<void> {
    const rows = writes.flatMap(({ taskId, after, owner, claims: added = [] }) =>
      added.map(({ key, digest }) => ({
        owner,
        claim_key: encodeKey(key),
        digest: encodeText(digest),
        task_id: encodeId(taskId),
        generation: after + 1,
      })),
    )
    if (rows.length === 0) return
    await query<unknown, Rows>(
      (value) => `
      INSERT INTO ${claims} (owner, claim_key, digest, task, generation)
      SELECT added.owner, added.claim_key, added.digest, task.task_key, added.generation
      FROM ${rowsSql(value.rows, claimColumns)} AS added STRAIGHT_JOIN ${tasks} AS task ON task.task_id = added.task_id`,
      { rows: JSON.stringify(rows) },
    )
  }

  async function insertEvents(
    query: RunQuery,
    writes: readonly (Write & { readonly fence?: number | undefined; readonly isTakenOver?: boolean })[],
  ): Promise<void> {
    const rows = writes.flatMap(({ taskId, after, batch, fence, token, isTakenOver }) =>
      batch.rows.map(({ text }, index) => ({
        task_id: encodeId(taskId),
        generation: after + 1 + index,
        event: text,
        fence,
        // Negative if the lease of another holder was taken over, so that `Events.find` can tell.
        token: isTakenOver ? -token : token,
      })),
    )
    await query<unknown, Rows>(
      (value) => `
      INSERT INTO ${events} (task, generation, event, fence, token, at)
      SELECT task.task_key, added.generation, added.event, added.fence, added.token, ${clockSql}
      FROM ${rowsSql(value.rows, { task_id: 'id', generation: 'int', event: 'text', fence: 'int', token: 'long' })} AS added
      STRAIGHT_JOIN ${tasks} AS task ON task.task_id = added.task_id`,
      { rows: JSON.stringify(rows) },
    )
  }

  async function insertTasks(query: RunQuery, creates: readonly Create[]): Promise<void> {
    const now = Date.now()
    const rows = rowsOf(creates, ({ task, lease, batch }) => {
      const { phase, dialect, changed } = advanceHead(initialHead(now), batch.events)
      const { statusAt, answered = false, isOver } = taskRowChange(batch.events, 0)
      return defined({
        task_id: encodeId(task.taskId),
        context_id: encodeId(task.contextId),
        owner: encodeId(task.owner),
        generation: batch.events.length,
        phase,
        status_generation: statusAt,
        status_answered: answered,
        dialect: optional(dialect),
        created: now,
        changed,
        ended: isOver,
        skill: optional(firstSkill(batch.events)),
        ttl: isOver ? undefined : lease.ttl,
        holder: isOver ? undefined : encodeId(lease.holder),
      })
    })
    await query<unknown, Rows>(
      (value) => `
      INSERT INTO ${tasks} (task_id, context_id, owner, generation, phase, status_generation, status_answered, dialect,
        created, changed, ended, fence, lease_until, lease_holder, skill)
      SELECT task_id, context_id, owner, generation, phase, status_generation, status_answered, dialect, created, changed,
        ended, 1, ${clockSql} + ttl, holder, skill
      FROM ${rowsSql(value.rows, taskColumns)} AS added ORDER BY at`,
      { rows },
    )
  }

  /** Updates the rows of tasks. Returns nothing: the rows are locked and were checked. */
  async function updateTasks(query: RunQuery, appends: readonly Decision[]): Promise<void> {
    const rows = rowsOf(appends, ({ append: { taskId, after, batch, lease }, fence }) => {
      const { phase, statusAt, answered, dialect, changed, isOver } = taskRowChange(batch.events, after)
      return defined({
        task_id: encodeId(taskId),
        generation: after + batch.events.length,
        phase,
        status_generation: statusAt,
        status_answered: answered,
        dialect: optional(dialect),
        changed,
        ended: isOver,
        fence,
        ttl: fence !== undefined && lease ? lease.ttl : undefined,
        holder: fence !== undefined && lease ? encodeId(lease.holder) : undefined,
      })
    })
    await query<unknown, Rows>(
      (value) => `
      UPDATE ${rowsSql(value.rows, { ...taskColumns, fence: 'int' })} AS new
      STRAIGHT_JOIN ${tasks} AS task ON task.task_id = new.task_id
      SET task.generation = new.generation, task.phase = COALESCE(new.phase, task.phase),
        task.status_generation = COALESCE(new.status_generation, task.status_generation),
        task.status_answered = COALESCE(new.status_answered, task.status_answered),
        task.dialect = COALESCE(new.dialect, task.dialect), task.changed = COALESCE(new.changed, task.changed),
        task.ended = task.ended OR new.ended, task.fence = COALESCE(new.fence, task.fence),
        task.lease_until = CASE WHEN new.ended THEN NULL WHEN new.fence IS NULL THEN task.lease_until
          ELSE ${clockSql} + new.ttl END,
        task.lease_holder = CASE WHEN new.ended THEN NULL WHEN new.fence IS NULL THEN task.lease_holder
          ELSE new.holder END`,
      { rows },
    )
  }

  async function lockTasks(query: RunQuery, appends: readonly Append[]): Promise<ReadonlyMap<string, LockedRow>> {
    const rows = await query<LockedRow, Rows>(
      (value) => `
      SELECT task.task_id, task.owner, task.generation, task.phase, task.fence, task.lease_holder IS NOT NULL AS is_held,
        NOT task.ended AND ${isFreeSql('task')} AS is_free
      FROM ${rowsSql(value.rows, { task_id: 'id' })} AS wanted
      STRAIGHT_JOIN ${tasks} AS task ON task.task_id = wanted.task_id ORDER BY task.task_key FOR UPDATE`,
      { rows: rowsOf(appends, ({ taskId }) => ({ task_id: encodeId(taskId) })) },
    )
    return new Map(rows.map((row) => [decodeText(row.task_id), row]))
  }

  const selectClaim = db.prepare<ClaimRow, { readonly owner: string; readonly key: string }>(
    ({ owner, key }) => `
    SELECT claim.owner, claim.claim_key, claim.digest, task.task_id, claim.generation
    FROM ${claims} AS claim JOIN ${tasks} AS task ON task.task_key = claim.task
    WHERE claim.owner = ${owner} AND claim.claim_key = ${key}`,
  )

  const appendAll: AppendAll = (appends) =>
    db.transaction(async (query) => {
      const locked = await lockTasks(query, appends)
      const claimed = await findClaims(
        query,
        appends.flatMap(({ taskId, claims: added = [] }) => {
          const owner = locked.get(taskId)?.owner
          return owner === undefined ? [] : added.map(({ key }) => ({ owner, key: encodeKey(key) }))
        }),
      )
      const decisions = appends.map((append) => decide(append, locked.get(append.taskId), claimed))
      const stored = decisions.filter(({ result }) => result.type === 'stored')
      if (stored.length > 0) {
        await updateTasks(query, stored)
        await insertEvents(
          query,
          stored.map(({ append, fence, isTakenOver }) => ({ ...append, fence: fence ?? append.fence, isTakenOver })),
        )
        await insertClaims(
          query,
          stored.map(({ append }) => ({ ...append, owner: locked.get(append.taskId)?.owner ?? '' })),
        )
        await counts.add(
          query,
          stored.flatMap(({ append: { taskId, after, batch } }) => {
            const { owner = '', phase } = locked.get(taskId) ?? {}
            return { owner, from: phase, to: taskRowChange(batch.events, after).phase ?? phase }
          }),
        )
      }
      return decisions.map(({ result }) => result)
    })

  return {
    createAll: (creates) =>
      db.transaction(async (query) => {
        const wanted = creates.flatMap(({ task, claims: added = [] }) =>
          added.map(({ key }) => ({ owner: encodeId(task.owner), key: encodeKey(key) })),
        )
        const claimed = await findClaims(query, wanted)
        const existing = await query<{ readonly task_id: string }, Rows>(
          (value) => `
          SELECT task.task_id FROM ${rowsSql(value.rows, { task_id: 'id' })} AS wanted
          STRAIGHT_JOIN ${tasks} AS task ON task.task_id = wanted.task_id`,
          { rows: rowsOf(creates, ({ taskId }) => ({ task_id: encodeId(taskId) })) },
        )
        const taken = new Set(existing.map(({ task_id }) => decodeText(task_id)))
        const results = creates.map((create) => {
          const record = firstClaim(create, encodeId(create.task.owner), claimed)
          if (record) return { type: 'known', claimed: record } as const
          if (taken.has(create.taskId)) return { type: 'exists' } as const
          return { type: 'stored', generation: create.batch.events.length, lease: { fence: 1 } } as const
        })
        const stored = creates.filter((_, index) => results[index]?.type === 'stored')
        if (stored.length > 0) {
          await insertTasks(query, stored)
          await insertEvents(
            query,
            stored.map((create) => ({ ...create, fence: 1 })),
          )
          await insertClaims(
            query,
            stored.map((create) => ({ ...create, owner: encodeId(create.task.owner) })),
          )
          await counts.add(
            query,
            stored.map(({ task, batch }) => {
              return { owner: encodeId(task.owner), to: taskRowChange(batch.events, 0).phase }
            }),
          )
        }
        return results
      }),
    appendAll,
    appendByWriter: async (appends, notification) =>
      (await appendAll(appends, notification)).map(({ type }) => type === 'stored'),
    async findClaim(owner, key) {
      const [row] = await selectClaim({ owner: encodeId(owner), key: encodeKey(key) })
      return row && decodeClaim(row)
    },
  }
}

/** SQL condition: the task has no lease, or it has expired, or it was released until a set time. */
export function isFreeSql(table: string): string {
  return `(${table}.lease_until IS NULL OR ${table}.lease_until <= ${clockSql} OR ${table}.lease_holder IS NULL)`
}

const taskColumns = {
  task_id: 'id',
  context_id: 'id',
  owner: 'id',
  generation: 'int',
  phase: 'id',
  status_generation: 'int',
  status_answered: 'bool',
  dialect: 'id',
  created: 'long',
  changed: 'long',
  ended: 'bool',
  ttl: 'double',
  holder: 'id',
  skill: 'text',
} as const

interface Decision {
  readonly append: Append
  readonly result: Appended
  /** Of the lease that is taken with the append. */
  readonly fence?: number | undefined
  readonly isTakenOver: boolean
}

function decide(append: Append, row: LockedRow | undefined, claimed: ReadonlyMap<string, ClaimRecord>): Decision {
  const refused = (result: Appended): Decision => ({ append, result, isTakenOver: false })
  if (!row || row.phase === 'expired') return refused({ type: 'gone' })
  const record = firstClaim(append, row.owner, claimed)
  if (record) return refused({ type: 'known', claimed: record })
  if (append.fence !== undefined && append.fence !== row.fence) return refused({ type: 'fenced' })
  if (append.after !== row.generation) return refused({ type: 'behind', generation: row.generation })
  const { isOver } = taskRowChange(append.batch.events, append.after)
  const fence = append.lease && row.is_free && !isOver ? row.fence + 1 : undefined
  const isTakenOver = fence !== undefined && Boolean(row.is_held)
  const lease = fence === undefined ? undefined : { fence, ...(isTakenOver && ({ isTakenOver: true } as const)) }
  const generation = append.after + append.batch.events.length
  return { append, result: { type: 'stored', generation, lease }, fence, isTakenOver }
}

function firstClaim(
  { claims = [] }: Write,
  owner: string,
  claimed: ReadonlyMap<string, ClaimRecord>,
): ClaimRecord | undefined {
  for (const { key } of claims) {
    const record = claimed.get(claimName(owner, encodeKey(key)))
    if (record) return record
  }
  return undefined
}

function claimName(owner: string, key: string): string {
  return `${owner}\n${key}`
}

function decodeClaim({ digest, task_id, generation }: ClaimRow): ClaimRecord {
  return { digest: decodeText(digest), taskId: decodeText(task_id), generation }
}

function optional(text: string | undefined): string | undefined {
  return text === undefined ? undefined : encodeText(text)
}

interface WantedClaim {
  readonly owner: string
  readonly key: string
}

interface ClaimRow {
  readonly owner: string
  readonly claim_key: string
  readonly digest: string
  readonly task_id: string
  readonly generation: number
}

interface LockedRow {
  readonly task_id: string
  readonly owner: string
  readonly generation: number
  readonly phase: string
  readonly fence: number
  readonly is_held: number
  readonly is_free: number
}
