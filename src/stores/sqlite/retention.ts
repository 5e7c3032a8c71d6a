import { type EndedPhase, endedPhases } from '../../core/protocol/states.ts'
import type { ErasedTask, TaskHead, TaskSelection } from '../../core/tasks/log.ts'
import { type SqliteDatabase, withSecureDelete } from './connection.ts'
import type { TaskCounts } from './task-counts.ts'

/** Each method returns the tasks that it changed. */
export interface Retention {
  expire(endedBefore: number, limit: number, phases?: readonly EndedPhase[]): readonly string[]
  forget(endedBefore: number, limit: number): readonly string[]
  erase(selection: TaskSelection, limit: number): readonly ErasedTask[]
}

export function createRetention(db: SqliteDatabase, counts: TaskCounts, now: () => number): Retention {
  // Each placeholder is bound once: `node:sqlite` before Node 22.20 and 24.6 binds repeated ones wrongly.
  // Unordered: the index by phase and time ends at the limit, where sorting would read all old tasks for every batch.
  const selectOld = db.prepare(`
    SELECT key, task_id, owner, phase FROM tasks INDEXED BY tasks_by_phase
    WHERE phase IN (SELECT value FROM json_each(?)) AND changed < ? LIMIT ?`)
  /** Tasks with and without a status are in different indexes. */
  function selectOwned({ owner, contextId }: TaskSelection, limit: number): readonly OwnedRow[] {
    const conditions = [owner !== undefined && 'owner = ?', contextId !== undefined && 'context_id = ?'].filter(Boolean)
    const values = [owner, contextId].filter((value) => value !== undefined)
    const part = (status: string) => `
      SELECT key, task_id, context_id, owner, phase, iif(phase = 'expired', 0, generation) AS events FROM tasks
      WHERE ${conditions.join(' AND ')} AND status_row IS ${status}`
    const select = db.prepare(`${part('NOT NULL')} UNION ALL ${part('NULL')} LIMIT ?`)
    return select.all(...values, ...values, limit) as OwnedRow[]
  }
  const makeTombstone = db.prepare(`UPDATE tasks SET phase = 'expired', status_row = NULL WHERE key = ?`)
  const dropEvents = db.prepare('DELETE FROM events WHERE task = ?')
  const dropSnapshot = db.prepare('DELETE FROM snapshots WHERE task = ?')
  const dropLines = db.prepare("DELETE FROM operator_records WHERE kind = 'log' AND list = ?")
  const dropClaims = db.prepare('DELETE FROM claims WHERE task = ?')
  const dropTask = db.prepare('DELETE FROM tasks WHERE key = ?')
  const dropWebhooks = db.prepare('DELETE FROM webhooks WHERE task_id = ? RETURNING owner, id')
  const recordRun = db.prepare('UPDATE retention SET last_run = ?, expired = expired + ?, forgotten = forgotten + ?')

  return {
    expire(endedBefore, limit, phases = endedPhases) {
      const tasks = selectOld.all(JSON.stringify(phases), endedBefore, limit)
      recordRun.run(now(), tasks.length, 0)
      return (tasks as TaskRow[]).map(({ key, task_id, owner, phase }) => {
        dropEvents.run(key)
        dropSnapshot.run(key)
        dropLines.run(task_id)
        makeTombstone.run(key)
        counts.move(owner, phase, 'expired')
        return task_id
      })
    },
    forget(endedBefore, limit) {
      const tombstones = selectOld.all('["expired"]', endedBefore, limit) as TaskRow[]
      recordRun.run(now(), 0, tombstones.length)
      return tombstones.map(({ key, task_id, owner }) => {
        dropClaims.run(key)
        dropTask.run(key)
        counts.clean(owner)
        return task_id
      })
    },
    erase(selection, limit) {
      const tasks = selectOwned(selection, limit)
      return withSecureDelete(db, () =>
        tasks.map(({ key, task_id: taskId, context_id, owner: taskOwner, phase, events }) => {
          for (const drop of [dropEvents, dropSnapshot, dropClaims, dropTask]) drop.run(key)
          counts.move(taskOwner, phase, 'expired')
          counts.clean(taskOwner)
          dropLines.run(taskId)
          const webhooks = (dropWebhooks.all(taskId) as WebhookRow[]).map((row) => ({ owner: row.owner, id: row.id }))
          return { taskId, contextId: context_id, owner: taskOwner, events, webhooks }
        }),
      )
    },
  }
}

interface TaskRow {
  readonly key: number
  readonly task_id: string
  readonly owner: string
  readonly phase: TaskHead['phase']
}

interface OwnedRow extends TaskRow {
  readonly context_id: string
  readonly events: number
}

interface WebhookRow {
  readonly owner: string
  readonly id: string
}
