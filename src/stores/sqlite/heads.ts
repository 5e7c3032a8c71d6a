import { type TaskStatus, tenantPrefix } from '../../core/protocol/model.ts'
import { taskPhases } from '../../core/protocol/states.ts'
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

  function countHeads({ owner, also, contextId, phase, changedSince }: ListQuery): number {
    const { where, values, filter } = createConditions({ owner, also })
    filter('task.phase = ?', phase)
    filter('task.context_id = ?', contextId)
    filter('task.changed >= ?', changedSince)
    const isCounted = contextId === undefined && changedSince === undefined
    const counting = isCounted
      ? 'SELECT coalesce(sum(total), 0) AS total FROM task_counts AS task WHERE'
      : `SELECT count(*) AS total FROM tasks AS task${indexFor({ also, contextId })} WHERE task.status_row IS NOT NULL AND`
    return (prepare(`${counting} ${where.join(' AND ')}`).get(...values) as { total: number }).total
  }

  return (query) => {
    const { contextId, phase, changedSince, cursor, limit } = query
    const { where, values, filter } = createConditions(query)
    filter('task.context_id = ?', contextId)
    filter('task.changed >= ?', changedSince)
    filter('(task.changed, task.key) < (?, ?)', cursor?.changed, cursor?.key)
    // The index orders the tasks of a phase, so the page is the newest of the newest in each.
    const isMerged = phase === undefined && contextId === undefined
    const newest = `
      SELECT task.key FROM tasks AS task${indexFor(query)}
      WHERE task.status_row IS NOT NULL AND ${where.join(' AND ')}${isMerged || phase ? ' AND task.phase = part.value' : ''}
      ORDER BY task.changed DESC, task.key DESC LIMIT ?`
    // SQLite keeps the order of tables in a CROSS JOIN.
    const page = `(
      SELECT task.key FROM json_each(?) AS part CROSS JOIN tasks AS task ON task.key IN (${newest})
      ORDER BY task.changed DESC, task.key DESC LIMIT ?) AS page`
    const select = prepare(
      `${selectHeads(`${page} CROSS JOIN tasks AS task ON task.key = page.key`)} ORDER BY task.changed DESC, task.key DESC`,
    )
    const phases = JSON.stringify(isMerged ? taskPhases : [phase ?? ''])
    // One row more than the limit shows whether there is another page.
    const rows = select.all(phases, ...values, limit + 1, limit + 1) as HeadRow[]
    const pageRows = rows.slice(0, limit)
    const last = rows.length > limit ? pageRows.at(-1) : undefined
    return {
      heads: pageRows.map((row) => ({ ...decodeHead(row), key: row.key })),
      total: countHeads(query),
      next: last && { changed: last.changed, key: last.key },
    }
  }
}

/** Forced, because SQLite sometimes picks the wider index. Lists with the tasks of others use the index that fits them. */
function indexFor({ also, contextId }: Pick<ListQuery, 'also' | 'contextId'>): string {
  return also ? '' : ` INDEXED BY ${contextId === undefined ? 'tasks_of_phase' : 'tasks_of_context'}`
}

/** The conditions of a list and their values. `filter` adds one unless its values are undefined. */
function createConditions(scope: Scope) {
  const { condition, values: owners } = ownerCondition(scope)
  const where = [condition]
  const values: SqliteValue[] = [...owners]
  function filter(added: string, ...optional: (SqliteValue | undefined)[]): void {
    const present = optional.filter((value) => value !== undefined)
    if (present.length === 0) return
    where.push(added)
    values.push(...present)
  }
  return { where, values, filter }
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
