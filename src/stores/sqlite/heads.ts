import type { TaskStatus } from '../../protocol/model.ts'
import { tenantPrefix } from '../../protocol/principal.ts'
import { withoutMessage } from '../../tasks/fold.ts'
import type { HeadPage, HeldLease, Lease, LeaseRequest, ListQuery, Scope, TaskHead } from '../../tasks/log.ts'
import { decodeRow } from '../event-rows.ts'
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './connection.ts'

export interface Heads {
  head(taskId: string, scope?: Scope): TaskHead | undefined
  isBeyond(taskId: string, generation: number): boolean
}

export interface HeadRow {
  readonly key: number
  readonly task_id: string
  readonly context_id: string
  readonly owner: string
  readonly generation: number
  readonly phase: TaskHead['phase']
  readonly created: number
  readonly changed: number
  readonly dialect: string | null
  readonly status_answered: number
  readonly status_events: string | null
}

export function createHeads(db: SqliteDatabase): Heads {
  const ofTask = db.prepare(`${selectHeads()} WHERE task.task_id = ?`)
  /** One for each form of a scope. */
  const within = new Map<string, SqliteStatement>()
  const beyond = db.prepare('SELECT 1 FROM tasks WHERE task_id = ? AND generation > ?')

  function find(taskId: string, scope: Scope): unknown {
    const { condition, values } = ownedBy(scope)
    const statement = within.get(condition) ?? db.prepare(`${selectHeads()} WHERE task.task_id = ? AND ${condition}`)
    within.set(condition, statement)
    return statement.get(taskId, ...values)
  }

  return {
    // Of a task that is not within the scope nothing is read: it must take no longer than one that never was.
    head(taskId, scope) {
      const row = (scope ? find(taskId, scope) : ofTask.get(taskId)) as HeadRow | undefined
      return row && decodeHead(row)
    },
    isBeyond: (taskId, generation) => beyond.get(taskId, generation) !== undefined,
  }
}

export type Listing = (query: ListQuery) => HeadPage

export function createListing(db: SqliteDatabase): Listing {
  /** One for each combination of filters that was asked for. */
  const prepared = new Map<string, SqliteStatement>()

  function prepare(sql: string): SqliteStatement {
    const statement = prepared.get(sql) ?? db.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }

  return ({ owner, also, contextId, phase, changedSince, cursor, limit }) => {
    // Named, because SQLite would sometimes take the wider one. Those who see more than their own may wait longer.
    const index = also ? '' : ` INDEXED BY ${contextId === undefined ? 'tasks_of_owner' : 'tasks_of_context'}`
    const from = `tasks AS task${index}`
    const owned = ownedBy({ owner, also })
    // Only tasks have a status, and so only they are listed.
    const where = ['task.status_row IS NOT NULL', owned.condition]
    const values: SqliteValue[] = [...owned.values]
    const filter = (condition: string, ...given: (SqliteValue | undefined)[]) => {
      const known = given.filter((value) => value !== undefined)
      if (known.length === 0) return
      where.push(condition)
      values.push(...known)
    }

    filter('task.context_id = ?', contextId)
    filter('task.phase = ?', phase)
    filter('task.changed >= ?', changedSince)
    const count = prepare(`SELECT count(*) AS total FROM ${from} WHERE ${where.join(' AND ')}`)
    const { total } = count.get(...values) as { total: number }

    filter('(task.changed, task.key) < (?, ?)', cursor?.changed, cursor?.key)
    const page = prepare(
      `${selectHeads(from)} WHERE ${where.join(' AND ')} ORDER BY task.changed DESC, task.key DESC LIMIT ?`,
    )
    // One more than asked for shows whether there is another page.
    const rows = page.all(...values, limit + 1) as HeadRow[]
    const shown = rows.slice(0, limit)
    const last = rows.length > limit ? shown.at(-1) : undefined
    return { heads: shown.map(decodeHead), total, next: last && { changed: last.changed, key: last.key } }
  }
}

export interface Leases {
  acquire(taskId: string, request: LeaseRequest): Lease | undefined
  renew(leases: readonly HeldLease[], ttl: number): readonly string[]
  release(taskId: string, fence: number, after: number, wakeAt?: number): boolean
  orphans(limit: number): readonly TaskHead[]
}

export function createLeases(db: SqliteDatabase, now: () => number): Leases {
  const take = db.prepare(`
    UPDATE tasks SET fence = fence + 1, lease_until = ?, lease_holder = ?
    WHERE task_id = ? AND ended = 0 AND (lease_until IS NULL OR lease_until <= ? OR lease_holder IS NULL)
    RETURNING fence`)
  const prolong = db.prepare(
    'UPDATE tasks SET lease_until = ? WHERE task_id = ? AND fence = ? AND lease_holder IS NOT NULL',
  )
  const giveBack = db.prepare(`
    UPDATE tasks SET lease_until = iif(ended, NULL, ?), lease_holder = NULL
    WHERE task_id = ? AND fence = ? AND generation = ?`)
  const holds = db.prepare('SELECT 1 FROM tasks WHERE task_id = ? AND fence = ?')
  const runOut = db.prepare(`${selectHeads()} WHERE task.lease_until <= ? ORDER BY task.lease_until LIMIT ?`)

  return {
    acquire(taskId, { holder, ttl }) {
      const moment = now()
      const row = take.get(moment + ttl, holder, taskId, moment) as Lease | undefined
      return row && { fence: row.fence }
    },
    renew(leases, ttl) {
      const until = now() + ttl
      return leases.flatMap(({ taskId, fence }) => (prolong.run(until, taskId, fence).changes ? [] : [taskId]))
    },
    release(taskId, fence, after, wakeAt) {
      if (giveBack.run(wakeAt ?? null, taskId, fence, after).changes) return true
      return holds.get(taskId, fence) === undefined
    },
    orphans: (limit) => (runOut.all(now(), limit) as HeadRow[]).map(decodeHead),
  }
}

/** Every head is selected in this way; conditions on `task` follow. Its status lies among the events. */
function selectHeads(from = 'tasks AS task'): string {
  return `
    SELECT task.key, task.task_id, task.context_id, task.owner, task.generation, task.phase, task.created, task.changed,
      task.dialect, task.status_answered, status.events AS status_events
    FROM ${from}
    LEFT JOIN events AS status ON status.task = task.key AND status.generation = task.status_row`
}

/** The owners of a tenant lie side by side in the index: from its prefix on, up to where that would be greater by one. */
function ownedBy({ owner, also }: Scope): { readonly condition: string; readonly values: readonly string[] } {
  if (also === undefined) return { condition: 'task.owner = ?', values: [owner] }
  if (also === 'everyone') return { condition: '1', values: [] }
  const owners = [owner, ...(also.owners ?? [])]
  const ranges = (also.tenants ?? []).map((tenant) => [tenantPrefix(tenant), tenantEnd(tenant)] as const)
  // As one value, so that the number of owners makes no new statement.
  const conditions = ['task.owner IN (SELECT value FROM json_each(?))']
  for (const _ of ranges) conditions.push('(task.owner >= ? AND task.owner < ?)')
  return { condition: `(${conditions.join(' OR ')})`, values: [JSON.stringify(owners), ...ranges.flat()] }
}

function tenantEnd(tenant: string): string {
  const prefix = tenantPrefix(tenant)
  return `${tenant}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)}`
}

function decodeHead(row: HeadRow): TaskHead {
  return {
    taskId: row.task_id,
    contextId: row.context_id,
    owner: row.owner,
    generation: row.generation,
    phase: row.phase,
    status: decodeStatus(row),
    created: row.created,
    changed: row.changed,
    dialect: row.dialect ?? undefined,
  }
}

/** As in the fold, the message of a status that was answered belongs to the history. */
function decodeStatus({ status_events, status_answered }: HeadRow): TaskStatus | undefined {
  if (status_events === null) return undefined
  const status = decodeRow(status_events).findLast((event) => event.type === 'status')?.status
  return status && status_answered ? withoutMessage(status) : status
}
