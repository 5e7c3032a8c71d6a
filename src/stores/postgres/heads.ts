import type { StatusEvent } from '../../protocol/events.ts'
import type { TaskStatus } from '../../protocol/model.ts'
import { tenantPrefix } from '../../protocol/principal.ts'
import { withoutMessage } from '../../tasks/fold.ts'
import type { HeadPage, ListQuery, Scope, TaskHead } from '../../tasks/log.ts'
import type { Database, PostgresValue, Query } from './connection.ts'
import { decodeText, encodeText, lines } from './sql-text.ts'

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
  /** One for each form of a scope. */
  const prepared = new Map<string, Query<HeadRow>>()

  // Of a task that is not within the scope nothing is read: it must take no longer than one that never was.
  return async (taskId, scope) => {
    const { conditions, values } = scope ? ownedBy(scope) : { conditions: [], values: [] }
    const where = [...conditions, `task.task_id = $${values.length + 1}`].join(' AND ')
    const query = prepared.get(where) ?? db.prepare<HeadRow>(`${selectHeads(db)} WHERE ${where}`)
    prepared.set(where, query)
    const [row] = await query(...values, encodeText(taskId))
    return row && decodeHead(row)
  }
}

export type Listing = (query: ListQuery) => Promise<HeadPage>

export function createListing(db: Database): Listing {
  return async ({ owner, also, contextId, phase, changedSince, cursor, limit }) => {
    // Only tasks have a status, and so only they are listed.
    const owned = ownedBy({ owner, also })
    const where = ['task.status_generation IS NOT NULL', ...owned.conditions]
    const values: PostgresValue[] = [...owned.values]
    const filter = (condition: string, value: PostgresValue | undefined) => {
      if (value === undefined) return
      values.push(value)
      where.push(`${condition} $${values.length}`)
    }

    filter('task.context_id =', contextId === undefined ? undefined : encodeText(contextId))
    filter('task.phase =', phase)
    filter('task.changed >=', changedSince === undefined ? undefined : Math.ceil(changedSince))
    const count = db.prepare<{ readonly total: number }>(
      `SELECT count(*)::float8 AS total FROM ${db.name('tasks')} AS task WHERE ${where.join(' AND ')}`,
    )
    const counted = count(...values)

    const paged: PostgresValue[] = [...values]
    if (cursor) {
      paged.push(cursor.changed, cursor.key)
      where.push(`(task.changed, task.key) < ($${paged.length - 1}, $${paged.length})`)
    }
    // One more than asked for shows whether there is another page.
    paged.push(limit + 1)
    const page = db.prepare<HeadRow>(
      `${selectHeads(db)} WHERE ${where.join(' AND ')} ORDER BY task.changed DESC, task.key DESC LIMIT $${paged.length}`,
    )
    const [[found], rows] = await Promise.all([counted, page(...paged)])
    const shown = rows.slice(0, limit)
    const last = rows.length > limit ? shown.at(-1) : undefined
    const next = last && { changed: last.changed, key: last.key }
    return { heads: shown.map(decodeHead), total: found?.total ?? 0, next }
  }
}

/** Every head is selected in this way; conditions on `task` follow. Its status lies among the events. */
export function selectHeads(db: Database): string {
  return `
    SELECT task.key::float8, task.task_id, task.context_id, task.owner, task.generation, task.phase,
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

/** As in the fold, the message of a status that was answered belongs to the history. */
function decodeStatus({ status_event, status_answered }: HeadRow): TaskStatus | undefined {
  if (status_event === null) return undefined
  const { status } = JSON.parse(status_event) as StatusEvent
  return status_answered ? withoutMessage(status) : status
}

function ownedBy({ owner, also }: Scope): Owned {
  if (also === undefined) return { conditions: ['task.owner = $1'], values: [encodeText(owner)] }
  if (also === 'everyone') return { conditions: [], values: [] }
  const { owners = [], tenants = [] } = also
  // As values of one line each, so that their number makes no new statement.
  const among = `task.owner = ANY (string_to_array($1, E'\\n'))`
  const within = `EXISTS (SELECT FROM unnest(string_to_array($2, E'\\n')) AS tenant WHERE starts_with(task.owner, tenant))`
  return {
    conditions: [`(${among} OR ${within})`],
    values: [lines([owner, ...owners]), lines(tenants.map(tenantPrefix))],
  }
}

interface Owned {
  readonly conditions: readonly string[]
  readonly values: readonly string[]
}
