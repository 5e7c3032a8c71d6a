import type { TaskEvent } from '../../core/protocol/events.ts'
import { clockTolerance, type HeldLease, readLimit, type Snapshot } from '../../core/tasks/log.ts'
import type { Database, RunQuery } from '../shared/database.ts'
import { createErase, type OwnedRow, type SelectionValues } from '../shared/erase.ts'
import { decodeHead, type HeadRow, type HeadSyntax } from '../shared/heads.ts'
import type { Events, FindGenerations, Leases, Retention, Snapshots } from '../shared/log-engine.ts'
import { decodeText } from '../shared/sql-text.ts'
import { clockSql, encodeId, rowsOf, rowsSql } from './sql-text.ts'
import { createTaskCounts, type PhaseChange } from './task-counts.ts'
import { isFreeSql } from './writes.ts'

interface Id {
  readonly taskId: string
}

interface Rows {
  readonly rows: string
}

/** Selects heads with their status, which is stored among the events. Conditions on `task` follow. */
export function selectHeads(db: Database, columns = '', from = `${db.name('tasks')} AS task`): string {
  return `
    SELECT ${columns} task.task_key AS \`key\`, task.task_id, task.context_id, task.owner, task.generation, task.phase,
      task.created, task.changed, task.dialect, task.status_answered, status.event AS status_event
    FROM ${from}
    LEFT JOIN ${db.name('events')} AS status ON status.task = task.task_key AND status.generation = task.status_generation`
}

export function headSyntax(db: Database): HeadSyntax {
  return {
    select: (keys) =>
      selectHeads(
        db,
        '',
        keys && `(${keys}) AS page STRAIGHT_JOIN ${db.name('tasks')} AS task ON task.task_key = page.task_key`,
      ),
    key: 'task_key',
  }
}

export function createFindGenerations(db: Database): FindGenerations {
  const select = db.prepare<{ readonly task_id: string; readonly generation: number }, Rows>(
    ({ rows }) => `
    SELECT task.task_id, task.generation FROM ${rowsSql(rows, { task_id: 'id' })} AS wanted
    STRAIGHT_JOIN ${db.name('tasks')} AS task ON task.task_id = wanted.task_id`,
  )
  return async (taskIds) => {
    const rows = await select({ rows: rowsOf(taskIds, (taskId) => ({ task_id: encodeId(taskId) })) })
    return new Map(rows.map(({ task_id, generation }) => [decodeText(task_id), generation]))
  }
}

/** Selects a page of events, and no more than `readLimit.bytes` of them. The range is closed, because generations are dense. */
export function pageSql(
  db: Database,
  { taskId, after, limit }: { taskId: string; after: string; limit: string },
): string {
  const size = 'OCTET_LENGTH(event.event)'
  return `
    SELECT generation, event, at, last FROM (
      SELECT event.generation, event.event, event.at, task.generation AS last,
        SUM(${size}) OVER (ORDER BY event.generation ROWS UNBOUNDED PRECEDING) - ${size} AS bytes_before
      FROM ${db.name('tasks')} AS task STRAIGHT_JOIN ${db.name('events')} AS event ON event.task = task.task_key
      WHERE task.task_id = ${taskId} AND event.generation > ${after} AND event.generation <= ${after} + ${limit}
    ) AS page WHERE bytes_before < ${readLimit.bytes} ORDER BY generation`
}

export interface PageRow {
  readonly generation: number
  readonly event: string
  readonly at: number | null
  readonly last: number
}

export function createEvents(db: Database): Events {
  const selectAfter = db.prepare<PageRow, Id & { readonly after: number }>(({ taskId, after }) =>
    pageSql(db, { taskId, after, limit: `${readLimit.events}` }),
  )
  const selectByToken = db.prepare<
    { readonly fence: number | null; readonly is_taken_over: number },
    Id & { readonly after: number; readonly token: number }
  >(
    ({ taskId, after, token }) => `
    SELECT fence, token < 0 AS is_taken_over FROM ${db.name('events')}
    WHERE task = (SELECT task_key FROM ${db.name('tasks')} WHERE task_id = ${taskId}) AND generation = ${after} + 1
      AND ABS(token) = ${token}`,
  )
  return {
    async read(taskId, after) {
      const rows = await selectAfter({ taskId: encodeId(taskId), after })
      const page = rows.map(({ generation, event }) => ({ generation, event: JSON.parse(event) as TaskEvent }))
      return { page, last: rows[0]?.last }
    },
    async find({ taskId, after, token }) {
      const [row] = await selectByToken({ taskId: encodeId(taskId), after, token })
      return row && { fence: row.fence, isTakenOver: Boolean(row.is_taken_over) }
    },
  }
}

export function createSnapshots(db: Database): Snapshots {
  const [tasks, snapshots] = [db.name('tasks'), db.name('snapshots')]
  const select = db.prepare<{ readonly snapshot: string }, Id>(
    ({ taskId }) =>
      `SELECT snapshot FROM ${snapshots} WHERE task = (SELECT task_key FROM ${tasks} WHERE task_id = ${taskId})`,
  )
  // The lock keeps the task from expiring meanwhile, which would leave a snapshot without a task.
  const upsert = db.prepareChange<Id & { readonly generation: number; readonly snapshot: string }>(
    ({ taskId, generation, snapshot }) => `
    INSERT INTO ${snapshots} (task, generation, snapshot)
    SELECT task_key, ${generation}, ${snapshot} FROM ${tasks} WHERE task_id = ${taskId} AND phase <> 'expired' FOR UPDATE
    ON DUPLICATE KEY UPDATE
      snapshot = IF(VALUES(generation) > ${snapshots}.generation, VALUES(snapshot), ${snapshots}.snapshot),
      generation = GREATEST(${snapshots}.generation, VALUES(generation))`,
  )
  return {
    async newest(taskId) {
      const [row] = await select({ taskId: encodeId(taskId) })
      return row && (JSON.parse(row.snapshot) as Snapshot)
    },
    async keep(snapshot) {
      const { taskId, generation } = snapshot
      await upsert({ taskId: encodeId(taskId), generation, snapshot: JSON.stringify(snapshot) })
    },
  }
}

export function createLeases(db: Database): Leases {
  const tasks = db.name('tasks')
  const leaseColumns = { task_id: 'id', fence: 'int' } as const
  const renewAll = db.prepareChange<Rows & { readonly ttl: number }>(
    ({ rows, ttl }) => `
    UPDATE ${rowsSql(rows, leaseColumns)} AS held
    STRAIGHT_JOIN ${tasks} AS task ON task.task_id = held.task_id AND task.fence = held.fence
    SET task.lease_until = ${clockSql} + ${ttl} WHERE task.lease_holder IS NOT NULL`,
  )
  const selectHeld = db.prepare<{ readonly task_id: string; readonly fence: number }, Rows>(
    ({ rows }) => `
    SELECT task.task_id, task.fence FROM ${rowsSql(rows, leaseColumns)} AS held
    STRAIGHT_JOIN ${tasks} AS task ON task.task_id = held.task_id AND task.fence = held.fence
    WHERE task.lease_holder IS NOT NULL`,
  )
  const releaseLease = db.prepareChange<HeldLease & { readonly after: number; readonly wakeAt: number | null }>(
    ({ taskId, fence, after, wakeAt }) => `
    UPDATE ${tasks} SET lease_until = IF(ended, NULL, ${wakeAt}), lease_holder = NULL
    WHERE task_id = ${taskId} AND fence = ${fence} AND generation = ${after}`,
  )
  const selectUnreleased = db.prepare<unknown, HeldLease & { readonly after: number }>(
    ({ taskId, fence, after }) => `
    SELECT 1 FROM ${tasks}
    WHERE task_id = ${taskId} AND fence = ${fence} AND NOT (generation = ${after} AND lease_holder IS NULL)`,
  )
  const selectExpired = db.prepare<HeadRow, { readonly limit: number }>(
    ({ limit }) => `${selectHeads(db)} WHERE task.lease_until <= ${clockSql} ORDER BY task.lease_until LIMIT ${limit}`,
  )
  const selectClock = db.prepare<{ readonly now: number | string }>(() => `SELECT ${clockSql} AS now`)
  const shortenLeases = db.prepareChange<{ readonly ttl: number }>(
    ({ ttl }) => `
    UPDATE ${tasks} SET lease_until = ${clockSql} + ${ttl}
    WHERE lease_holder IS NOT NULL AND lease_until > ${clockSql} + ${ttl}`,
  )
  /** The time of the database at the last look for orphans, in milliseconds. */
  let lastNow: number | undefined

  return {
    acquire: (taskId, { holder, ttl }) =>
      db.transaction(async (query) => {
        const id = { taskId: encodeId(taskId) }
        const [row] = await query<{ readonly fence: number }, Id>(
          (value) => `
          SELECT task.fence FROM ${tasks} AS task
          WHERE task.task_id = ${value.taskId} AND NOT task.ended AND ${isFreeSql('task')} FOR UPDATE`,
          id,
        )
        if (!row) return undefined
        await query<unknown, Id & { readonly holder: string; readonly ttl: number }>(
          (value) => `
          UPDATE ${tasks} SET fence = fence + 1, lease_until = ${clockSql} + ${value.ttl}, lease_holder = ${value.holder}
          WHERE task_id = ${value.taskId}`,
          { ...id, holder: encodeId(holder), ttl },
        )
        return { fence: row.fence + 1 }
      }),
    async renew(leases, ttl) {
      if (leases.length === 0) return []
      const rows = rowsOf(leases, ({ taskId, fence }) => ({ task_id: encodeId(taskId), fence }))
      await renewAll({ rows, ttl })
      const held = new Set((await selectHeld({ rows })).map((row) => `${row.fence} ${decodeText(row.task_id)}`))
      return leases.filter(({ taskId, fence }) => !held.has(`${fence} ${taskId}`)).map(({ taskId }) => taskId)
    },
    async release(taskId, fence, after, wakeAt) {
      const lease = { taskId: encodeId(taskId), fence, after }
      if ((await releaseLease({ ...lease, wakeAt: wakeAt ?? null })) > 0) return true
      return (await selectUnreleased(lease)).length === 0
    },
    async orphans(limit, ttl) {
      const [clock] = await selectClock()
      const now = Number(clock?.now)
      const mayBeSetBack = lastNow === undefined || now < lastNow
      lastNow = now
      const rows = await selectExpired({ limit })
      if (mayBeSetBack && ttl !== undefined) await shortenLeases({ ttl: clockTolerance * ttl })
      return rows.map(decodeHead)
    },
  }
}

export function createRetention(db: Database): Retention {
  const tasks = db.name('tasks')
  const counts = createTaskCounts(db)

  async function record(query: RunQuery, column: 'expired' | 'forgotten', count: number): Promise<void> {
    await query<unknown, { readonly count: number }>(
      (value) => `
      UPDATE ${db.name('retention')} SET last_run = FLOOR(${clockSql}), ${column} = ${column} + ${value.count}`,
      { count },
    )
  }

  /** Removes rows of other tables that belong to tasks. */
  async function removeOf(query: RunQuery, table: string, keys: string): Promise<void> {
    await query<unknown, Rows>(
      (value) => `
      DELETE gone FROM ${rowsSql(value.rows, { task_key: 'long' })} AS old
      STRAIGHT_JOIN ${db.name(table)} AS gone ON gone.task = old.task_key`,
      { rows: keys },
    )
  }

  async function removeLines(query: RunQuery, keys: string): Promise<void> {
    await query<unknown, Rows>(
      (value) => `
      DELETE gone FROM ${rowsSql(value.rows, { task_key: 'long' })} AS old
      STRAIGHT_JOIN ${tasks} AS task ON task.task_key = old.task_key
      STRAIGHT_JOIN ${db.name('operator_records')} AS gone ON gone.kind = 'log' AND gone.list = task.task_id`,
      { rows: keys },
    )
  }

  async function selectOld(query: RunQuery, condition: string, endedBefore: number, limit: number) {
    const rows = await query<TaskRow, { readonly endedBefore: number; readonly limit: number }>(
      (value) => `
      SELECT task_key, task_id, owner, phase FROM ${tasks} WHERE ${condition} AND changed < ${value.endedBefore}
      ORDER BY changed LIMIT ${value.limit} FOR UPDATE SKIP LOCKED`,
      { endedBefore: Math.ceil(endedBefore), limit },
    )
    const taskIds = rows.map((row) => decodeText(row.task_id))
    return { rows, keys: rowsOf(rows, ({ task_key }) => ({ task_key })), taskIds }
  }

  // As a text, because the driver parses JSON.
  const columns = `task.task_key AS \`key\`, task.task_id, task.context_id, task.owner, task.phase,
    IF(task.phase = 'expired', 0, task.generation) AS events,
    (SELECT CAST(JSON_ARRAYAGG(JSON_ARRAY(hook.owner, hook.id)) AS CHAR) FROM ${db.name('webhooks')} AS hook
      WHERE hook.task_id = task.task_id) AS webhooks`
  const select = db.prepare<OwnedRow, SelectionValues>(
    ({ owner, contextId, limit }) => `
    SELECT ${columns} FROM ${tasks} AS task
    WHERE (${owner} IS NULL OR task.owner = ${owner}) AND (${contextId} IS NULL OR task.context_id = ${contextId})
    ORDER BY task.task_key LIMIT ${limit}`,
  )
  const drop = (selected: readonly OwnedRow['key'][]) =>
    db.transaction(async (query) => {
      const wanted = rowsOf(selected, (task_key) => ({ task_key }))
      const rows = await query<OwnedRow & Pick<TaskRow, 'phase'>, Rows>(
        (value) => `
        SELECT ${columns} FROM ${rowsSql(value.rows, { task_key: 'long' })} AS wanted
        STRAIGHT_JOIN ${tasks} AS task ON task.task_key = wanted.task_key ORDER BY task.task_key FOR UPDATE`,
        { rows: wanted },
      )
      const keys = rowsOf(rows, ({ key }) => ({ task_key: key }))
      await query<unknown, Rows>(
        (value) => `
        DELETE gone FROM ${rowsSql(value.rows, { task_key: 'long' })} AS old
        STRAIGHT_JOIN ${tasks} AS task ON task.task_key = old.task_key
        STRAIGHT_JOIN ${db.name('webhooks')} AS gone ON gone.task_id = task.task_id`,
        { rows: keys },
      )
      await removeLines(query, keys)
      for (const table of ['events', 'snapshots', 'claims']) await removeOf(query, table, keys)
      await removeTasks(query, keys, rows)
      return rows
    })

  async function removeTasks(query: RunQuery, keys: string, removed: readonly CountedRow[]): Promise<void> {
    await query<unknown, Rows>(
      (value) => `
      DELETE task FROM ${rowsSql(value.rows, { task_key: 'long' })} AS old
      STRAIGHT_JOIN ${tasks} AS task ON task.task_key = old.task_key`,
      { rows: keys },
    )
    await counts.remove(query, removed.map(leavesPhase))
  }

  return {
    expire: (endedBefore, limit, phases) =>
      db.transaction(async (query) => {
        const inPhases = phases ? ` AND phase IN (${phases.map((phase) => `'${phase}'`).join(', ') || 'NULL'})` : ''
        const condition = `ended AND phase <> 'expired'${inPhases}`
        const { rows, keys, taskIds } = await selectOld(query, condition, endedBefore, limit)
        await removeOf(query, 'events', keys)
        await removeOf(query, 'snapshots', keys)
        await removeLines(query, keys)
        await query<unknown, Rows>(
          (value) => `
          UPDATE ${rowsSql(value.rows, { task_key: 'long' })} AS old
          STRAIGHT_JOIN ${tasks} AS task ON task.task_key = old.task_key
          SET task.phase = 'expired', task.status_generation = NULL`,
          { rows: keys },
        )
        await counts.add(query, rows.map(leavesPhase))
        await record(query, 'expired', taskIds.length)
        return taskIds
      }),
    forget: (endedBefore, limit) =>
      db.transaction(async (query) => {
        const { rows, keys, taskIds } = await selectOld(query, "phase = 'expired'", endedBefore, limit)
        await removeOf(query, 'claims', keys)
        await removeTasks(query, keys, rows)
        await record(query, 'forgotten', taskIds.length)
        return taskIds
      }),
    erase: createErase(db, { select, drop }, encodeId),
  }
}

interface CountedRow {
  readonly owner: string
  readonly phase: string
}

function leavesPhase({ owner, phase }: CountedRow): PhaseChange {
  return { owner, from: phase }
}

interface TaskRow extends CountedRow {
  readonly task_key: number | string
  readonly task_id: string
}
