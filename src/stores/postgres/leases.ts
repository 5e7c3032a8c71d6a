import type { HeldLease, Lease, LeaseRequest, TaskHead } from '../../tasks/log.ts'
import type { Database } from './connection.ts'
import { decodeHead, type HeadRow, selectHeads } from './heads.ts'
import { array, decodeText, encodeText, lines } from './sql-text.ts'

/** Leases run by the clock of the database, which is one for all. */
export interface Leases {
  acquire(taskId: string, request: LeaseRequest): Promise<Lease | undefined>
  renew(leases: readonly HeldLease[], ttl: number): Promise<readonly string[]>
  release(taskId: string, fence: number, after: number, wakeAt?: number): Promise<boolean>
  orphans(limit: number): Promise<readonly TaskHead[]>
}

export function createLeases(db: Database): Leases {
  const tasks = db.name('tasks')
  const take = db.prepare<Lease>(`
    UPDATE ${tasks} SET fence = fence + 1, lease_until = ${leaseEnd('$2::float8')}, lease_holder = $3
    WHERE task_id = $1 AND NOT ended AND ${isFree}
    RETURNING fence`)
  // Many at once never wait for a lock, so that they and others who write many do not wait for each other.
  const prolongFree = db.prepare<HeldRow>(`
    WITH held AS MATERIALIZED (
      SELECT task.key, task.task_id, task.fence FROM ${tasks} AS task
      JOIN unnest(string_to_array($1, E'\\n'), $2::int[]) AS lease (task_id, fence)
        ON task.task_id = lease.task_id AND task.fence = lease.fence
      WHERE task.lease_holder IS NOT NULL
      FOR NO KEY UPDATE OF task SKIP LOCKED
    )
    UPDATE ${tasks} AS task SET lease_until = ${leaseEnd('$3::float8')}
    FROM held WHERE task.key = held.key
    RETURNING held.task_id, held.fence`)
  const prolong = db.prepare(`
    UPDATE ${tasks} SET lease_until = ${leaseEnd('$3::float8')}
    WHERE task_id = $1 AND fence = $2 AND lease_holder IS NOT NULL RETURNING key`)
  const giveBack = db.prepare<{ readonly released: boolean }>(`
    WITH given AS (
      UPDATE ${tasks}
      SET lease_until = CASE WHEN ended THEN NULL ELSE to_timestamp($4::float8 / 1000) END, lease_holder = NULL
      WHERE task_id = $1 AND fence = $2 AND generation = $3 RETURNING key
    )
    SELECT EXISTS (SELECT FROM given) OR NOT EXISTS (SELECT FROM ${tasks} WHERE task_id = $1 AND fence = $2) AS released`)
  const runOut = db.prepare<HeadRow>(`
    ${selectHeads(db)} WHERE task.lease_until <= statement_timestamp() ORDER BY task.lease_until LIMIT $1`)

  return {
    async acquire(taskId, { holder, ttl }) {
      const [lease] = await take(encodeText(taskId), ttl, encodeText(holder))
      return lease && { fence: lease.fence }
    },
    async renew(leases, ttl) {
      if (leases.length === 0) return []
      const fences = array(leases.map(({ fence }) => fence))
      const rows = await prolongFree(lines(leases.map(({ taskId }) => taskId)), fences, ttl)
      const held = new Set(rows.map(({ task_id, fence }) => `${fence} ${decodeText(task_id)}`))
      const lost: string[] = []
      for (const { taskId, fence } of leases) {
        if (held.has(`${fence} ${taskId}`)) continue
        const prolonged = await prolong(encodeText(taskId), fence, ttl)
        if (prolonged.length === 0) lost.push(taskId)
      }
      return lost
    },
    async release(taskId, fence, after, wakeAt) {
      const [row] = await giveBack(encodeText(taskId), fence, after, wakeAt ?? null)
      return row?.released === true
    },
    orphans: async (limit) => (await runOut(limit)).map(decodeHead),
  }
}

/** When a lease ends that begins now, given its milliseconds. */
export function leaseEnd(ttl: string): string {
  return `clock_timestamp() + ${ttl} * interval '1 millisecond'`
}

/** Nobody holds it, or nobody any more; until a moment that was set, nobody has to. */
export const isFree = '(lease_until IS NULL OR lease_until <= clock_timestamp() OR lease_holder IS NULL)'

interface HeldRow {
  readonly task_id: string
  readonly fence: number
}
