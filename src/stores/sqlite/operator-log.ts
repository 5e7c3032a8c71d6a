import type { TaskEvent } from '../../protocol/events.ts'
import { tenantPrefix } from '../../protocol/model.ts'
import type { Phase } from '../../protocol/states.ts'
import { readLimit } from '../../tasks/log.ts'
import {
  activePhases,
  contentPhases,
  type MinuteSummary,
  maxCounted,
  maxValues,
  type OperatorLog,
  type OperatorQuery,
  type OperatorTask,
  type OperatorValues,
  type TaskActivity,
  type TimedEvent,
} from '../../tasks/operator-log.ts'
import { decodeRow } from '../event-batches.ts'
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './connection.ts'
import { decodeHead, type HeadRow, selectHeads } from './heads.ts'

export interface SqliteOperatorLogOptions {
  /** Runs a read. */
  readonly query: <T>(read: () => T) => Promise<T>
  /** Runs a write together with others. */
  readonly write: <T>(work: () => T) => Promise<T>
  readonly now: () => number
  readonly leaseTime: () => number
}

/** Statements are prepared when an operator needs them first. */
export function createSqliteOperatorLog(db: SqliteDatabase, options: SqliteOperatorLogOptions): OperatorLog {
  const { query, write, now, leaseTime } = options
  const prepared = new Map<string, SqliteStatement>()

  function prepare(sql: string): SqliteStatement {
    const statement = prepared.get(sql) ?? db.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }

  function taskOf(row: OperatorRow): OperatorTask {
    const { lease_holder: holder, lease_until: until } = row
    const isLive = holder !== null && until !== null && until > leaseTime()
    return {
      ...decodeHead(row),
      key: row.key,
      skill: row.skill ?? undefined,
      lease: isLive ? { holder, expires: Math.round(now() + until - leaseTime()) } : undefined,
    }
  }

  function list(filters: OperatorQuery) {
    const { cursor, limit, phases = contentPhases } = filters
    const selected = filters.isStuck
      ? phases.filter((phase) => activePhases.some((active) => active === phase))
      : phases
    if (selected.length === 0) return { tasks: [], total: 0 }
    const condition = conditionOf(filters, leaseTime(), now())
    const counting = selectEach(selected, 'SELECT 1', condition, `LIMIT ${maxCounted}`)
    const counted = prepare(`SELECT count(*) AS total FROM (${counting.sql})`).get(...counting.values) as Total
    const paged = cursor
      ? {
          where: [...condition.where, '(changed, key) < (?, ?)'],
          values: [...condition.values, cursor.changed, cursor.key],
        }
      : condition
    const order = 'ORDER BY changed DESC, key DESC'
    // One row more than the limit shows whether there is another page.
    const keys = selectEach(selected, 'SELECT key, changed', paged, `${order} LIMIT ${limit + 1}`)
    const rows = prepare(`
      ${selectHeads('tasks AS task', operatorColumns)}
      WHERE task.key IN (SELECT key FROM (${keys.sql}) ${order} LIMIT ${limit + 1})
      ORDER BY task.changed DESC, task.key DESC`).all(...keys.values) as OperatorRow[]
    const page = rows.slice(0, limit)
    const last = rows.length > limit ? page.at(-1) : undefined
    return {
      tasks: page.map(taskOf),
      total: Math.min(counted.total, maxCounted),
      next: last && { changed: last.changed, key: last.key },
    }
  }

  return {
    kind: 'SQLite',

    tasks: (filters) => query(() => list(filters)),

    task: (taskId) =>
      query(() => {
        const select = prepare(`${selectHeads('tasks AS task', operatorColumns)} WHERE task.task_id = ?`)
        const row = select.get(taskId) as OperatorRow | undefined
        return row && taskOf(row)
      }),

    events: (taskId, after, limit) => query(() => readEvents(prepare, taskId, after, limit)),

    counts: () =>
      query(() => {
        const phases = prepare('SELECT phase, count(*) AS total FROM tasks GROUP BY phase').all() as PhaseRow[]
        const active = activePhases.map((phase) => `'${phase}'`).join(', ')
        const stuck = prepare(`SELECT count(*) AS total FROM tasks WHERE phase IN (${active}) AND ${stuckSql}`)
        const leases = prepare('SELECT count(*) AS total FROM tasks WHERE lease_until > ?')
        const size = prepare('SELECT page_size * page_count AS total FROM pragma_page_size, pragma_page_count')
        return {
          phases: Object.fromEntries(phases.map(({ phase, total }) => [phase, total])),
          stuck: (stuck.get(leaseTime(), now()) as Total).total,
          leases: (leases.get(leaseTime()) as Total).total,
          bytes: (size.get() as Total).total,
        }
      }),

    activity: (phase: Phase, after, limit) =>
      query(() => {
        const select = prepare(`
          SELECT key, created, changed FROM tasks WHERE phase = ? AND (changed, key) > (?, ?)
          ORDER BY changed, key LIMIT ?`)
        return select.all(phase, after.changed, after.key, limit) as unknown as readonly TaskActivity[]
      }),

    minutes: (from) =>
      query(() => {
        const rows = prepare('SELECT summary FROM operator_minutes WHERE minute >= ? ORDER BY minute').all(from)
        return (rows as { readonly summary: string }[]).map(({ summary }) => JSON.parse(summary) as MinuteSummary)
      }),

    keepMinutes: (minutes, removeBefore) =>
      write(() => {
        const insert = prepare('INSERT OR IGNORE INTO operator_minutes (minute, summary) VALUES (?, ?)')
        for (const summary of minutes) insert.run(summary.minute, JSON.stringify(summary))
        prepare('DELETE FROM operator_minutes WHERE minute < ?').run(removeBefore)
      }),

    values: createValues(prepare, options),
  }
}

/** One condition for all phases, so that the index of each phase is read only as far as the page needs. */
function conditionOf(filters: OperatorQuery, leaseTime: number, now: number): Condition {
  const where: string[] = []
  const values: SqliteValue[] = []
  const add = (condition: string, ...bound: SqliteValue[]) => {
    where.push(condition)
    values.push(...bound)
  }
  const { isStuck, principal, skill, contextId, search, changedSince } = filters
  if (isStuck) add(stuckSql, leaseTime, now)
  if (principal !== undefined) {
    add('(owner = ? OR substr(owner, -length(?)) = ?)', principal, ...twice(`${tenantPrefix('')}${principal}`))
  }
  if (skill !== undefined) add('skill = ?', skill)
  if (contextId !== undefined) add('context_id = ?', contextId)
  if (search !== undefined) {
    add('(instr(task_id, ?) > 0 OR instr(context_id, ?) > 0 OR instr(owner, ?) > 0)', search, ...twice(search))
  }
  if (changedSince !== undefined) add('changed >= ?', changedSince)
  return { where, values }
}

/** The same selection of every phase, one after the other. */
function selectEach(phases: readonly string[], select: string, { where, values }: Condition, end: string) {
  const each = `SELECT * FROM (${select} FROM tasks WHERE ${['phase = ?', ...where].join(' AND ')} ${end})`
  const sql = phases.map(() => each).join(' UNION ALL ')
  return { sql, values: phases.flatMap((phase) => [phase, ...values]) }
}

function readEvents(prepare: Prepare, taskId: string, after: number, limit: number): readonly TimedEvent[] {
  const rows = prepare(`
    SELECT generation, events, at FROM events
    WHERE task = (SELECT key FROM tasks WHERE task_id = ?) AND generation > ? ORDER BY generation`)
  const page: TimedEvent[] = []
  let characters = 0
  for (const { generation: last, events: text, at } of rows.iterate(taskId, after) as Iterable<EventsRow>) {
    const events = decodeRow(text)
    const before = last - events.length
    for (let index = Math.max(0, after - before); index < events.length && page.length < limit; index++) {
      page.push({ generation: before + 1 + index, event: events[index] as TaskEvent, at: at ?? undefined })
    }
    characters += text.length
    if (page.length >= limit || characters >= readLimit.bytes) break
  }
  return page
}

function createValues(prepare: Prepare, { query, write, now }: SqliteOperatorLogOptions): OperatorValues {
  return {
    get: (name) =>
      query(() => {
        const row = prepare('SELECT value FROM operator_values WHERE name = ? AND expires > ?').get(name, now())
        return (row as { readonly value: string } | undefined)?.value
      }),
    set: (name, value, expires) =>
      write(() => {
        prepare('INSERT OR REPLACE INTO operator_values (name, value, expires) VALUES (?, ?, ?)').run(
          name,
          value,
          expires,
        )
        prepare('DELETE FROM operator_values WHERE expires <= ?').run(now())
        prepare(`
          DELETE FROM operator_values WHERE name IN (
            SELECT name FROM operator_values ORDER BY expires DESC LIMIT -1 OFFSET ${maxValues})`).run()
      }),
    delete: (name) => write(() => void prepare('DELETE FROM operator_values WHERE name = ?').run(name)),
  }
}

type Prepare = (sql: string) => SqliteStatement

/** Values: the time of leases, and the time of day. */
const stuckSql = `(lease_holder IS NULL OR lease_until <= ?) AND (wake_at IS NULL OR wake_at <= ?)`

const operatorColumns = 'task.skill, task.lease_holder, task.lease_until,'

const twice = (text: string): readonly [string, string] => [text, text]

interface Condition {
  readonly where: readonly string[]
  readonly values: readonly SqliteValue[]
}

interface OperatorRow extends HeadRow {
  readonly skill: string | null
  readonly lease_holder: string | null
  readonly lease_until: number | null
}

interface Total {
  readonly total: number
}

interface PhaseRow extends Total {
  readonly phase: string
}

interface EventsRow {
  readonly generation: number
  readonly events: string
  readonly at: number | null
}
