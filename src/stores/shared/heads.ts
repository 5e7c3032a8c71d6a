import type { StatusEvent } from '../../core/protocol/events.ts'
import { type TaskStatus, tenantPrefix } from '../../core/protocol/model.ts'
import { withoutMessage } from '../../core/tasks/fold.ts'
import type { Scope, TaskHead } from '../../core/tasks/log.ts'
import type { Database } from './database.ts'
import type { LogEngine } from './log-engine.ts'
import { decodeText } from './sql-text.ts'
import { type AddValue, createValues, type SqlValue } from './statement.ts'

/** What differs between the engines in a query of heads. */
export interface HeadSyntax {
  /** Selects heads with their status, which is stored among the events. Conditions on `task` follow. */
  readonly select: string
  /** The column that holds the key of the row. */
  readonly key: string
  readonly encode: (text: string) => string
  /** Encodes texts as one value, so that their number does not change the statement. */
  readonly encodeAll: (texts: readonly string[]) => string
  /** Conditions on a column and the placeholder of such a value. */
  readonly isOneOf: (column: string, texts: string) => string
  readonly startsWithOneOf: (column: string, texts: string) => string
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
      ...(scope ? ownerConditions(scope, syntax, add) : []),
      `task.task_id = ${add(syntax.encode(taskId))}`,
    ]
    const [row] = await db.run<HeadRow>({ text: `${syntax.select} WHERE ${where.join(' AND ')}`, values })
    return row && decodeHead(row)
  }
}

export function createListHeads(db: Database, syntax: HeadSyntax): LogEngine['listHeads'] {
  return async ({ owner, also, contextId, phase, changedSince, cursor, limit }) => {
    // An exchange without a status never became a task.
    const { values, add } = createValues(numbered)
    const where = ['task.status_generation IS NOT NULL', ...ownerConditions({ owner, also }, syntax, add)]
    const filter = (condition: string, value: SqlValue | undefined) => {
      if (value !== undefined) where.push(`${condition} ${add(value)}`)
    }

    filter('task.context_id =', contextId === undefined ? undefined : syntax.encode(contextId))
    filter('task.phase =', phase)
    filter('task.changed >=', changedSince === undefined ? undefined : Math.ceil(changedSince))
    const counting = db.run<{ readonly total: number | string }>({
      text: `SELECT count(*) AS total FROM ${db.name('tasks')} AS task WHERE ${where.join(' AND ')}`,
      values: [...values],
    })

    if (cursor) where.push(`(task.changed, task.${syntax.key}) < (${add(cursor.changed)}, ${add(cursor.key)})`)
    // One row more than the limit shows whether there is another page.
    const end = `ORDER BY task.changed DESC, task.${syntax.key} DESC LIMIT ${add(limit + 1)}`
    const paging = db.run<HeadRow>({ text: `${syntax.select} WHERE ${where.join(' AND ')} ${end}`, values })
    const [[counted], rows] = await Promise.all([counting, paging])
    const pageRows = rows.slice(0, limit)
    const last = rows.length > limit ? pageRows.at(-1) : undefined
    const next = last && { changed: Number(last.changed), key: Number(last.key) }
    const heads = pageRows.map((row) => ({ ...decodeHead(row), key: Number(row.key) }))
    return { heads, total: Number(counted?.total ?? 0), next }
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

function ownerConditions({ owner, also }: Scope, syntax: HeadSyntax, add: AddValue): readonly string[] {
  if (also === undefined) return [`task.owner = ${add(syntax.encode(owner))}`]
  if (also === 'everyone') return []
  const { owners = [], tenants = [] } = also
  const isOwner = syntax.isOneOf('task.owner', add(syntax.encodeAll([owner, ...owners])))
  const isInTenant = syntax.startsWithOneOf('task.owner', add(syntax.encodeAll(tenants.map(tenantPrefix))))
  return [`(${isOwner} OR ${isInTenant})`]
}
