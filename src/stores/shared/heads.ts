import type { StatusEvent } from '../../core/protocol/events.ts'
import { type TaskStatus, tenantPrefix } from '../../core/protocol/model.ts'
import { taskPhases } from '../../core/protocol/states.ts'
import { withoutMessage } from '../../core/tasks/fold.ts'
import type { ListQuery, Scope, TaskHead } from '../../core/tasks/log.ts'
import type { Database } from './database.ts'
import type { LogEngine } from './log-engine.ts'
import type { SqlSyntax } from './sql-syntax.ts'
import { decodeText } from './sql-text.ts'
import { type AddValue, createValues } from './statement.ts'

/** What differs between the engines in a query of heads. */
export interface HeadSyntax {
  /**
   * Selects heads with their status, which is stored among the events. Conditions on `task` follow. With a query of keys,
   * the database looks these up and reads no other tasks.
   */
  readonly select: (keys?: string) => string
  /** The column that holds the key of the row. */
  readonly key: string
}

export interface HeadRow {
  readonly key: number | string
  readonly task_id: string
  readonly context_id: string
  readonly owner: string
  readonly generation: number
  readonly phase: TaskHead['phase']
  readonly created: number | string
  readonly changed: number | string
  readonly dialect: string | null
  readonly status_answered: boolean | number
  readonly status_event: string | null
}

export function createFindHead(db: Database, syntax: HeadSyntax): LogEngine['findHead'] {
  // The scope is part of the query: a task outside it must take no longer than one that does not exist.
  return async (taskId, scope) => {
    const { values, add } = createValues(numbered)
    const where = [
      ...(scope ? ownerConditions(scope, db.syntax, add) : []),
      `task.task_id = ${add(db.syntax.encodeId(taskId))}`,
    ]
    const [row] = await db.run<HeadRow>({ text: `${syntax.select()} WHERE ${where.join(' AND ')}`, values })
    return row && decodeHead(row)
  }
}

export function createListHeads(db: Database, syntax: HeadSyntax): LogEngine['listHeads'] {
  const tasks = `${db.name('tasks')} AS task`

  /** The conditions of a query on any table with the owners of tasks. */
  function conditionsOf({ owner, also, contextId, changedSince }: ListQuery) {
    const { values, add } = createValues(numbered)
    const where = ['1 = 1', ...ownerConditions({ owner, also }, db.syntax, add)]
    if (contextId !== undefined) where.push(`task.context_id = ${add(db.syntax.encodeId(contextId))}`)
    if (changedSince !== undefined) where.push(`task.changed >= ${add(Math.ceil(changedSince))}`)
    return { values, add, where }
  }

  async function count(query: ListQuery): Promise<number> {
    const { contextId, phase, changedSince } = query
    const { values, add, where } = conditionsOf(query)
    if (phase !== undefined) where.push(`task.phase = ${add(phase)}`)
    const isCounted = contextId === undefined && changedSince === undefined
    const counting = isCounted
      ? `SELECT sum(task.total) AS total FROM ${db.name('task_counts')} AS task WHERE`
      : `SELECT count(*) AS total FROM ${tasks} WHERE task.status_generation IS NOT NULL AND`
    const text = `${counting} ${where.join(' AND ')}`
    const [row] = await db.run<{ readonly total: number | string | null }>({ text, values })
    return Number(row?.total ?? 0)
  }

  /** The first rows of a page, and one more, which shows whether there is another page. */
  async function page(query: ListQuery): Promise<readonly HeadRow[]> {
    const { contextId, phase, cursor, limit } = query
    const { values, add, where } = conditionsOf(query)
    if (cursor) {
      const [changed, key] = [add(cursor.changed), add(cursor.key)]
      // The first condition is implied, but MySQL finds the place in its index only by that.
      where.push(`task.changed <= ${changed} AND (task.changed, task.${syntax.key}) < (${changed}, ${key})`)
    }
    const end = `ORDER BY changed DESC, ${syntax.key} DESC LIMIT ${add(limit + 1)}`
    // The index orders the tasks of a phase, so the page is the newest of the newest in each.
    const parts = phase === undefined && contextId === undefined ? taskPhases : [phase]
    const newest = parts.map((part) => {
      const inPhase = part === undefined ? '' : ` AND task.phase = '${part}'`
      const all = ['task.status_generation IS NOT NULL', ...where].join(' AND ')
      return `(SELECT task.${syntax.key}, task.changed FROM ${tasks} WHERE ${all}${inPhase} ${end})`
    })
    const keys = `SELECT ${syntax.key} FROM (${newest.join(' UNION ALL ')}) AS newest ${end}`
    const text = `${syntax.select(keys)} ORDER BY task.changed DESC, task.${syntax.key} DESC`
    return await db.run<HeadRow>({ text, values })
  }

  return async (query) => {
    const [total, rows] = await Promise.all([count(query), page(query)])
    const pageRows = rows.slice(0, query.limit)
    const last = rows.length > query.limit ? pageRows.at(-1) : undefined
    const next = last && { changed: Number(last.changed), key: Number(last.key) }
    return { heads: pageRows.map((row) => ({ ...decodeHead(row), key: Number(row.key) })), total, next }
  }
}

export function decodeHead(row: HeadRow): TaskHead {
  return {
    taskId: decodeText(row.task_id),
    contextId: decodeText(row.context_id),
    owner: decodeText(row.owner),
    generation: row.generation,
    phase: row.phase,
    status: decodeStatus(row),
    created: Number(row.created),
    changed: Number(row.changed),
    dialect: row.dialect === null ? undefined : decodeText(row.dialect),
  }
}

/** As in the fold, the message of an answered status belongs to the history. */
function decodeStatus({ status_event, status_answered }: HeadRow): TaskStatus | undefined {
  if (status_event === null) return undefined
  const { status } = JSON.parse(status_event) as StatusEvent
  return status_answered ? withoutMessage(status) : status
}

/** The placeholders of a statement whose text depends on the request. */
export const numbered = (index: number) => `$${index}`

function ownerConditions({ owner, also }: Scope, syntax: SqlSyntax, add: AddValue): readonly string[] {
  if (also === undefined) return [`task.owner = ${add(syntax.encodeId(owner))}`]
  if (also === 'everyone') return []
  const { owners = [], tenants = [] } = also
  const list = (texts: readonly string[]) => add(syntax.encodeList(texts.map(syntax.encodeId)))
  const isOwner = syntax.isOneOf('task.owner', list([owner, ...owners]))
  return [`(${isOwner} OR ${syntax.startsWithOneOf('task.owner', list(tenants.map(tenantPrefix)))})`]
}
