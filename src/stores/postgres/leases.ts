import { clockTolerance, type HeldLease, type Lease } from '../../core/tasks/log.ts'
import type { Database } from '../shared/database.ts'
import { decodeHead, type HeadRow } from '../shared/heads.ts'
import type { Leases } from '../shared/log-engine.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { selectHeads } from './heads.ts'
import { array, lines, linesSql } from './sql-text.ts'

export function createLeases(db: Database): Leases {
  const tasks = db.name('tasks')
  const acquireLease = db.prepare<Lease, { readonly taskId: string; readonly holder: string; readonly ttl: number }>(
    ({ taskId, holder, ttl }) => `
    UPDATE ${tasks} SET fence = fence + 1, lease_until = ${leaseEndSql(ttl)}, lease_holder = ${holder}
    WHERE task_id = ${taskId} AND NOT ended AND ${isFreeSql}
    RETURNING fence`,
  )
  // Skips locked rows: a statement that renews many leases must not wait for another one that writes many tasks.
  const renewUnlocked = db.prepare<HeldRow, HeldColumns>(
    ({ taskIds, fences, ttl }) => `
    WITH held AS MATERIALIZED (
      SELECT task.key, task.task_id, task.fence FROM ${tasks} AS task
      JOIN unnest(${linesSql(taskIds)}, ${fences}::int[]) AS lease (task_id, fence)
        ON task.task_id = lease.task_id AND task.fence = lease.fence
      WHERE task.lease_holder IS NOT NULL
      FOR NO KEY UPDATE OF task SKIP LOCKED
    )
    UPDATE ${tasks} AS task SET lease_until = ${leaseEndSql(ttl)}
    FROM held WHERE task.key = held.key
    RETURNING held.task_id, held.fence`,
  )
  const renewOne = db.prepare<unknown, HeldLease & { readonly ttl: number }>(
    ({ taskId, fence, ttl }) => `
    UPDATE ${tasks} SET lease_until = ${leaseEndSql(ttl)}
    WHERE task_id = ${taskId} AND fence = ${fence} AND lease_holder IS NOT NULL RETURNING key`,
  )
  const releaseLease = db.prepare<
    { readonly released: boolean },
    HeldLease & { readonly after: number; readonly wakeAt: number | null }
  >(
    ({ taskId, fence, after, wakeAt }) => `
    WITH updated AS (
      UPDATE ${tasks}
      SET lease_until = CASE WHEN ended THEN NULL ELSE to_timestamp(${wakeAt}::float8 / 1000) END, lease_holder = NULL
      WHERE task_id = ${taskId} AND fence = ${fence} AND generation = ${after} RETURNING key
    )
    SELECT EXISTS (SELECT FROM updated)
      OR NOT EXISTS (SELECT FROM ${tasks} WHERE task_id = ${taskId} AND fence = ${fence}) AS released`,
  )
  // Always returns a row, for the time of the database.
  const selectExpired = db.prepare<ExpiredRow, { readonly limit: number }>(
    ({ limit }) => `
    SELECT extract(epoch FROM clock_timestamp())::float8 AS now, head.* FROM (SELECT) AS one LEFT JOIN LATERAL (
      ${selectHeads(db)} WHERE task.lease_until <= statement_timestamp() ORDER BY task.lease_until LIMIT ${limit}
    ) AS head ON true`,
  )
  const shortenLeases = db.prepare<unknown, { readonly ttl: number }>(
    ({ ttl }) => `
    UPDATE ${tasks} SET lease_until = ${leaseEndSql(ttl)}
    WHERE lease_holder IS NOT NULL AND lease_until > ${leaseEndSql(ttl)}`,
  )
  /** The time of the database at the last look for orphans, in seconds. */
  let lastNow: number | undefined

  return {
    async acquire(taskId, { holder, ttl }) {
      const [lease] = await acquireLease({ taskId: encodeText(taskId), holder: encodeText(holder), ttl })
      return lease && { fence: lease.fence }
    },
    async renew(leases, ttl) {
      if (leases.length === 0) return []
      const fences = array(leases.map(({ fence }) => fence))
      const rows = await renewUnlocked({ taskIds: lines(leases.map(({ taskId }) => taskId)), fences, ttl })
      const held = new Set(rows.map(({ task_id, fence }) => `${fence} ${decodeText(task_id)}`))
      const lost: string[] = []
      for (const { taskId, fence } of leases) {
        if (held.has(`${fence} ${taskId}`)) continue
        const renewed = await renewOne({ taskId: encodeText(taskId), fence, ttl })
        if (renewed.length === 0) lost.push(taskId)
      }
      return lost
    },
    async release(taskId, fence, after, wakeAt) {
      const [row] = await releaseLease({ taskId: encodeText(taskId), fence, after, wakeAt: wakeAt ?? null })
      return row?.released === true
    },
    async orphans(limit, ttl) {
      const rows = await selectExpired({ limit })
      const now = rows[0]?.now ?? 0
      const mayBeSetBack = lastNow === undefined || now < lastNow
      lastNow = now
      if (mayBeSetBack && ttl !== undefined) await shortenLeases({ ttl: clockTolerance * ttl })
      return rows.filter(isHead).map(decodeHead)
    },
  }
}

/** SQL for the end of a lease that begins now and lasts for `ttl` milliseconds. */
export function leaseEndSql(ttl: string): string {
  return `clock_timestamp() + ${ttl}::float8 * interval '1 millisecond'`
}

/** SQL condition: the task has no lease, or it has expired, or it was released until a set time. */
export const isFreeSql = '(lease_until IS NULL OR lease_until <= clock_timestamp() OR lease_holder IS NULL)'

/** An orphan, or only the time if there is none. */
type ExpiredRow = { readonly now: number } & (HeadRow | { readonly task_id: null })

function isHead(row: ExpiredRow): row is { readonly now: number } & HeadRow {
  return row.task_id !== null
}

interface HeldColumns {
  readonly taskIds: string
  readonly fences: string
  readonly ttl: number
}

interface HeldRow {
  readonly task_id: string
  readonly fence: number
}
