import { type TaskStatus, tenantPrefix } from '../../core/protocol/model.ts'
import { withoutMessage } from '../../core/tasks/fold.ts'
import type { HeadPage, ListQuery, Scope, TaskHead } from '../../core/tasks/log.ts'
import { decodeRow } from '../shared/event-batches.ts'
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './connection.ts'

export interface Heads {
  head(taskId: string, scope?: Scope): TaskHead | undefined
  hasEventsAfter(taskId: string, generation: number): boolean
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
  const select = db.prepare(`${selectHeads()} WHERE task.task_id = ?`)
  /** One statement per form of scope. */
  const scoped = new Map<string, SqliteStatement>()
  const selectAfter = db.prepare('SELECT 1 FROM tasks WHERE task_id = ? AND generation > ?')

  function selectScoped(taskId: string, scope: Scope): unknown {
    const { condition, values } = ownerCondition(scope)
    const statement = scoped.get(condition) ?? db.prepare(`${selectHeads()} WHERE task.task_id = ? AND ${condition}`)
    scoped.set(condition, statement)
    return statement.get(taskId, ...values)
  }

  return {
    // The scope is part of the query: a task outside it must take no longer than one that does not exist.
    head(taskId, scope) {
      const row = (scope ? selectScoped(taskId, scope) : select.get(taskId)) as HeadRow | undefined
      return row && decodeHead(row)
    },
    hasEventsAfter: (taskId, generation) => selectAfter.get(taskId, generation) !== undefined,
  }
}

export type ListHeads = (query: ListQuery) => HeadPage

export function createListHeads(db: SqliteDatabase): ListHeads {
  /** One statement per combination of filters. */
  const prepared = new Map<string, SqliteStatement>()

  function prepare(sql: string): SqliteStatement {
    const statement = prepared.get(sql) ?? db.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }

  return ({ owner, also, contextId, phase, changedSince, cursor, limit }) => {
    // Forced, because SQLite sometimes picks the wider index. Callers who see the tasks of others may wait longer.
    const index = also ? '' : ` INDEXED BY ${contextId === undefined ? 'tasks_of_owner' : 'tasks_of_context'}`
    const from = `tasks AS task${index}`
    const owned = ownerCondition({ owner, also })
    // An exchange without a status never became a task.
    const where = ['task.status_row IS NOT NULL', owned.condition]
    const values: SqliteValue[] = [...owned.values]
    const filter = (condition: string, ...optional: (SqliteValue | undefined)[]) => {
      const present = optional.filter((value) => value !== undefined)
      if (present.length === 0) return
      where.push(condition)
      values.push(...present)
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
    // One row more than the limit shows whether there is another page.
    const rows = page.all(...values, limit + 1) as HeadRow[]
    const pageRows = rows.slice(0, limit)
    const last = rows.length > limit ? pageRows.at(-1) : undefined
    return {
      heads: pageRows.map((row) => ({ ...decodeHead(row), key: row.key })),
      total,
      next: last && { changed: last.changed, key: last.key },
    }
  }
}

/** Selects heads with their status, which is stored among the events. Conditions on `task` follow. */
export function selectHeads(from = 'tasks AS task', columns = ''): string {
  return `
    SELECT ${columns} task.key, task.task_id, task.context_id, task.owner, task.generation, task.phase, task.created, task.changed,
      task.dialect, task.status_answered, status.events AS status_events
    FROM ${from}
    LEFT JOIN events AS status ON status.task = task.key AND status.generation = task.status_row`
}

/** The owners of a tenant are a range of the index: from its prefix up to the prefix with its last character raised. */
function ownerCondition({ owner, also }: Scope): { readonly condition: string; readonly values: readonly string[] } {
  if (also === undefined) return { condition: 'task.owner = ?', values: [owner] }
  if (also === 'everyone') return { condition: '1', values: [] }
  const owners = [owner, ...(also.owners ?? [])]
  const ranges = (also.tenants ?? []).map((tenant) => [tenantPrefix(tenant), tenantEnd(tenant)] as const)
  // One value for all owners, so that their number does not change the statement.
  const conditions = ['task.owner IN (SELECT value FROM json_each(?))']
  for (const _ of ranges) conditions.push('(task.owner >= ? AND task.owner < ?)')
  return { condition: `(${conditions.join(' OR ')})`, values: [JSON.stringify(owners), ...ranges.flat()] }
}

function tenantEnd(tenant: string): string {
  const prefix = tenantPrefix(tenant)
  return `${tenant}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)}`
}

export function decodeHead(row: HeadRow): TaskHead {
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

/** As in the fold, the message of an answered status belongs to the history. */
function decodeStatus({ status_events, status_answered }: HeadRow): TaskStatus | undefined {
  if (status_events === null) return undefined
  const status = decodeRow(status_events).findLast((event) => event.type === 'status')?.status
  return status && status_answered ? withoutMessage(status) : status
}
