import type { StatusEvent } from '../../protocol/events.ts'
import type { TaskStatus } from '../../protocol/model.ts'
import type { Scope, TaskHead } from '../../tasks/log.ts'
import { withoutMessage } from '../../tasks/without-message.ts'
import type { Database, Query } from './database.ts'
import { ownedBy } from './owned-by.ts'
import { decodeText, encodeText } from './text.ts'

/** Every head is selected in this way; conditions on `task` follow. Its status lies among the events. */
export function selectHeads(db: Database): string {
  return `
    SELECT task.key::float8, task.task_id, task.context_id, task.owner, task.generation, task.phase,
      task.created::float8, task.changed::float8, task.dialect, task.status_answered, status.event AS status_event
    FROM ${db.name('tasks')} AS task
    LEFT JOIN ${db.name('events')} AS status ON status.task = task.key AND status.generation = task.status_generation`
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
  readonly status_answered: boolean
  readonly status_event: string | null
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

export type FindHead = (taskId: string, scope?: Scope) => Promise<TaskHead | undefined>

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
