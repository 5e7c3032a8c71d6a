import { clockTolerance, type HeldLease, type Lease, type LeaseRequest, type TaskHead } from '../../core/tasks/log.ts'
import type { SqliteDatabase } from './connection.ts'
import { decodeHead, type HeadRow, selectHeads } from './heads.ts'

/**
 * Leases are columns of the task row: `fence`, `lease_until`, `lease_holder`, and `wake_at` while there is none. See
 * `TaskLog` for each method.
 */
export interface Leases {
  acquire(taskId: string, request: LeaseRequest): Lease | undefined
  renew(leases: readonly HeldLease[], ttl: number): readonly string[]
  release(taskId: string, fence: number, after: number, wakeAt?: number): boolean
  orphans(limit: number): readonly TaskHead[]
  /** Whether a lease ends later than any process with this `ttl` can have set it; `shorten` corrects that. */
  hasTooLong(ttl: number): boolean
  shorten(ttl: number): void
}

/** `time` never goes back; `now` is the time of day, by which tasks wake up. */
export function createLeases(db: SqliteDatabase, time: () => number, now: () => number): Leases {
  const acquireLease = db.prepare(`
    UPDATE tasks SET fence = fence + 1, lease_until = ?, lease_holder = ?, wake_at = NULL
    WHERE task_id = ? AND ended = 0 AND (lease_holder IS NULL OR lease_until <= ?)
    RETURNING fence`)
  const renewLease = db.prepare(
    'UPDATE tasks SET lease_until = ? WHERE task_id = ? AND fence = ? AND lease_holder IS NOT NULL',
  )
  const releaseLease = db.prepare(`
    UPDATE tasks SET lease_until = NULL, lease_holder = NULL, wake_at = iif(ended, NULL, ?)
    WHERE task_id = ? AND fence = ? AND generation = ?`)
  const selectFence = db.prepare('SELECT 1 FROM tasks WHERE task_id = ? AND fence = ?')
  const selectExpired = db.prepare(`${selectHeads()} WHERE task.lease_until <= ? ORDER BY task.lease_until LIMIT ?`)
  const selectWaking = db.prepare(`${selectHeads()} WHERE task.wake_at <= ? ORDER BY task.wake_at LIMIT ?`)
  const selectTooLong = db.prepare('SELECT 1 FROM tasks WHERE lease_until > ? LIMIT 1')
  const shortenLeases = db.prepare('UPDATE tasks SET lease_until = ? WHERE lease_until > ?')
  const longest = (ttl: number) => time() + clockTolerance * ttl

  return {
    acquire(taskId, { holder, ttl }) {
      const begin = time()
      const row = acquireLease.get(begin + ttl, holder, taskId, begin) as Lease | undefined
      return row && { fence: row.fence }
    },
    renew(leases, ttl) {
      const until = time() + ttl
      return leases.flatMap(({ taskId, fence }) => (renewLease.run(until, taskId, fence).changes ? [] : [taskId]))
    },
    release(taskId, fence, after, wakeAt) {
      if (releaseLease.run(wakeAt ?? null, taskId, fence, after).changes) return true
      return selectFence.get(taskId, fence) === undefined
    },
    orphans(limit) {
      const expired = selectExpired.all(time(), limit) as HeadRow[]
      const waking = selectWaking.all(now(), limit - expired.length) as HeadRow[]
      return [...expired, ...waking].map(decodeHead)
    },
    hasTooLong: (ttl) => selectTooLong.get(longest(ttl)) !== undefined,
    shorten(ttl) {
      const end = longest(ttl)
      shortenLeases.run(end, end)
    },
  }
}
