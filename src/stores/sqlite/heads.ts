import type { TaskStatus } from '../../protocol/model.ts'
import type { Scope, TaskHead } from '../../tasks/log.ts'
import { withoutMessage } from '../../tasks/without-message.ts'
import { decodeRow } from '../event-batch.ts'
import type { SqliteDatabase, SqliteStatement } from './driver.ts'
import { ownedBy } from './owned-by.ts'

/** Every head is selected in this way; conditions on `task` follow. Its status lies among the events. */
export function selectHeads(from = 'tasks AS task'): string {
  return `
    SELECT task.key, task.task_id, task.context_id, task.owner, task.generation, task.phase, task.created, task.changed,
      task.dialect, task.status_answered, status.events AS status_events
    FROM ${from}
    LEFT JOIN events AS status ON status.task = task.key AND status.generation = task.status_row`
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

/** As in the fold, the message of a status that was answered belongs to the history. */
function decodeStatus({ status_events, status_answered }: HeadRow): TaskStatus | undefined {
  if (status_events === null) return undefined
  const status = decodeRow(status_events).findLast((event) => event.type === 'status')?.status
  return status && status_answered ? withoutMessage(status) : status
}

export interface Heads {
  head(taskId: string, scope?: Scope): TaskHead | undefined
  isBeyond(taskId: string, generation: number): boolean
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
