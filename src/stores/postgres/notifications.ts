import type { Database } from '../shared/database.ts'
import type { FindGenerations } from '../shared/log-engine.ts'
import { decodeText } from '../shared/sql-text.ts'
import { encodeNotification } from '../shared/waiters.ts'
import { lines, linesSql } from './sql-text.ts'
import type { NotificationValues } from './write-columns.ts'

/** Number of hashes that always fit into one notification. */
const maxHashes = 500

/** Notifies the other replicas of tasks that changed without an append. */
export function createNotifyReplicas(db: Database, channel: string, sender: string) {
  const send = db.prepare<unknown, NotificationValues>(
    ({ channel, notification }) => `SELECT pg_notify(${channel}, ${notification})`,
  )
  return async (taskIds: readonly string[]): Promise<void> => {
    for (let at = 0; at < taskIds.length; at += maxHashes) {
      await send({ channel, notification: encodeNotification(sender, taskIds.slice(at, at + maxHashes)) })
    }
  }
}

export function createFindGenerations(db: Database): FindGenerations {
  const select = db.prepare<{ readonly task_id: string; readonly generation: number }, { readonly taskIds: string }>(
    ({ taskIds }) => `SELECT task_id, generation FROM ${db.name('tasks')} WHERE task_id = ANY (${linesSql(taskIds)})`,
  )
  return async (taskIds) => {
    const rows = await select({ taskIds: lines(taskIds) })
    return new Map(rows.map(({ task_id, generation }) => [decodeText(task_id), generation]))
  }
}
