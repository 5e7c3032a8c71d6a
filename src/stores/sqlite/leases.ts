import type { HeldLease, Lease, LeaseRequest, TaskHead } from '../../tasks/log.ts'
import type { SqliteDatabase } from './connection.ts'
import { decodeHead, type HeadRow, selectHeads } from './heads.ts'

/** Leases are columns of the task row: `fence`, `lease_until` and `lease_holder`. See `TaskLog` for each method. */
export interface Leases {
  acquire(taskId: string, request: LeaseRequest): Lease | undefined
  renew(leases: readonly HeldLease[], ttl: number): readonly string[]
  release(taskId: string, fence: number, after: number, wakeAt?: number): boolean
  orphans(limit: number): readonly TaskHead[]
}

export function createLeases(db: SqliteDatabase, now: () => number): Leases {
  const acquireLease = db.prepare(`
    UPDATE tasks SET fence = fence + 1, lease_until = ?, lease_holder = ?
    WHERE task_id = ? AND ended = 0 AND (lease_until IS NULL OR lease_until <= ? OR lease_holder IS NULL)
    RETURNING fence`)
  const renewLease = db.prepare(
    'UPDATE tasks SET lease_until = ? WHERE task_id = ? AND fence = ? AND lease_holder IS NOT NULL',
  )
  const releaseLease = db.prepare(`
    UPDATE tasks SET lease_until = iif(ended, NULL, ?), lease_holder = NULL
    WHERE task_id = ? AND fence = ? AND generation = ?`)
  const selectFence = db.prepare('SELECT 1 FROM tasks WHERE task_id = ? AND fence = ?')
  const selectExpired = db.prepare(`${selectHeads()} WHERE task.lease_until <= ? ORDER BY task.lease_until LIMIT ?`)

  return {
    acquire(taskId, { holder, ttl }) {
      const time = now()
      const row = acquireLease.get(time + ttl, holder, taskId, time) as Lease | undefined
      return row && { fence: row.fence }
    },
    renew(leases, ttl) {
      const until = now() + ttl
      return leases.flatMap(({ taskId, fence }) => (renewLease.run(until, taskId, fence).changes ? [] : [taskId]))
    },
    release(taskId, fence, after, wakeAt) {
      if (releaseLease.run(wakeAt ?? null, taskId, fence, after).changes) return true
      return selectFence.get(taskId, fence) === undefined
    },
    orphans: (limit) => (selectExpired.all(now(), limit) as HeadRow[]).map(decodeHead),
  }
}
