import type { StatusEvent } from '../../core/protocol/events.ts'
import { type TaskStatus, tenantPrefix } from '../../core/protocol/model.ts'
import { withoutMessage } from '../../core/tasks/fold.ts'
import type { HeadPage, ListQuery, Scope, TaskHead } from '../../core/tasks/log.ts'
import { type AddValue, createValues, type SqlValue } from '../shared/statement.ts'
import type { Database } from './connection.ts'
import { decodeText, encodeText, lines, linesSql } from './sql-text.ts'

export type FindHead = (taskId: string, scope?: Scope) => Promise<TaskHead | undefined>

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
  readonly status_answered: boolean
  readonly status_event: string | null
}

export function createFindHead(db: Database): FindHead {
  const select = selectHeads(db)

  // The scope is part of the query: a task outside it must take no longer than one that does not exist.
  return async (taskId, scope) => {
    const { values, add } = createValues(numbered)
    const where = [...(scope ? ownerConditions(scope, add) : []), `task.task_id = ${add(encodeText(taskId))}`]
    const [row] = await db.run<HeadRow>({ text: `${select} WHERE ${where.join(' AND ')}`, values })
    return row && decodeHead(row)
  }
}

export type ListHeads = (query: ListQuery) => Promise<HeadPage>

export function createListHeads(db: Database): ListHeads {
  return async ({ owner, also, contextId, phase, changedSince, cursor, limit }) => {
    // An exchange without a status never became a task.
    const { values, add } = createValues(numbered)
    const where = ['task.status_generation IS NOT NULL', ...ownerConditions({ owner, also }, add)]
    const filter = (condition: string, value: SqlValue | undefined) => {
      if (value !== undefined) where.push(`${condition} ${add(value)}`)
    }

    filter('task.context_id =', contextId === undefined ? undefined : encodeText(contextId))
    filter('task.phase =', phase)
    filter('task.changed >=', changedSince === undefined ? undefined : Math.ceil(changedSince))
    const counting = db.run<{ readonly total: number }>({
      text: `SELECT count(*)::float8 AS total FROM ${db.name('tasks')} AS task WHERE ${where.join(' AND ')}`,
      values: [...values],
    })

    if (cursor) where.push(`(task.changed, task.key) < (${add(cursor.changed)}, ${add(cursor.key)})`)
    // One row more than the limit shows whether there is another page.
    const end = `ORDER BY task.changed DESC, task.key DESC LIMIT ${add(limit + 1)}`
    const paging = db.run<HeadRow>({ text: `${selectHeads(db)} WHERE ${where.join(' AND ')} ${end}`, values })
    const [[counted], rows] = await Promise.all([counting, paging])
    const pageRows = rows.slice(0, limit)
    const last = rows.length > limit ? pageRows.at(-1) : undefined
    const next = last && { changed: last.changed, key: last.key }
    const heads = pageRows.map((row) => ({ ...decodeHead(row), key: row.key }))
    return { heads, total: counted?.total ?? 0, next }
  }
}

/** Selects heads with their status, which is stored among the events. Conditions on `task` follow. */
export function selectHeads(db: Database, columns = ''): string {
  return `
    SELECT ${columns} task.key::float8, task.task_id, task.context_id, task.owner, task.generation, task.phase,
      task.created::float8, task.changed::float8, task.dialect, task.status_answered, status.event AS status_event
    FROM ${db.name('tasks')} AS task
    LEFT JOIN ${db.name('events')} AS status ON status.task = task.key AND status.generation = task.status_generation`
}

export function decodeHead(row: HeadRow): TaskHead {
  return {
    taskId: decodeText(row.task_id),
    contextId: decodeText(row.context_id),
    owner: decodeText(row.owner),
    generation: row.generation,
    phase: row.phase,
    status: decodeStatus(row),
    created: row.created,
    changed: row.changed,
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

function ownerConditions({ owner, also }: Scope, add: AddValue): readonly string[] {
  if (also === undefined) return [`task.owner = ${add(encodeText(owner))}`]
  if (also === 'everyone') return []
  const { owners = [], tenants = [] } = also
  // One value for all owners and one for all tenants, so that their number does not change the statement.
  const isOwner = `task.owner = ANY (${linesSql(add(lines([owner, ...owners])))})`
  const prefixes = linesSql(add(lines(tenants.map(tenantPrefix))))
  const isInTenant = `EXISTS (SELECT FROM unnest(${prefixes}) AS tenant WHERE starts_with(task.owner, tenant))`
  return [`(${isOwner} OR ${isInTenant})`]
}
