import type { HeldLease, Lease, LeaseRequest, TaskHead } from '../../tasks/log.ts'
import type { SqliteDatabase } from './driver.ts'
import { decodeHead, type HeadRow, selectHeads } from './heads.ts'

export interface Leases {
  acquire(taskId: string, request: LeaseRequest): Lease | undefined
  renew(leases: readonly HeldLease[], ttl: number): readonly string[]
  release(taskId: string, fence: number, after: number, wakeAt?: number): boolean
  orphans(limit: number): readonly TaskHead[]
}

export function createLeases(db: SqliteDatabase, now: () => number): Leases {
  const take = db.prepare(`
    UPDATE tasks SET fence = fence + 1, lease_until = ?, lease_holder = ?
    WHERE task_id = ? AND ended = 0 AND (lease_until IS NULL OR lease_until <= ? OR lease_holder IS NULL)
    RETURNING fence`)
  const prolong = db.prepare(
    'UPDATE tasks SET lease_until = ? WHERE task_id = ? AND fence = ? AND lease_holder IS NOT NULL',
  )
  const giveBack = db.prepare(`
    UPDATE tasks SET lease_until = iif(ended, NULL, ?), lease_holder = NULL
    WHERE task_id = ? AND fence = ? AND generation = ?`)
  const holds = db.prepare('SELECT 1 FROM tasks WHERE task_id = ? AND fence = ?')
  const runOut = db.prepare(`${selectHeads()} WHERE task.lease_until <= ? ORDER BY task.lease_until LIMIT ?`)

  return {
    acquire(taskId, { holder, ttl }) {
      const moment = now()
      const row = take.get(moment + ttl, holder, taskId, moment) as Lease | undefined
      return row && { fence: row.fence }
    },
    renew(leases, ttl) {
      const until = now() + ttl
      return leases.flatMap(({ taskId, fence }) => (prolong.run(until, taskId, fence).changes ? [] : [taskId]))
    },
    release(taskId, fence, after, wakeAt) {
      if (giveBack.run(wakeAt ?? null, taskId, fence, after).changes) return true
      return holds.get(taskId, fence) === undefined
    },
    orphans: (limit) => (runOut.all(now(), limit) as HeadRow[]).map(decodeHead),
  }
}
