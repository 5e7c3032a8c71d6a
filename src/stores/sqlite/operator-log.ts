import type { TaskEvent } from '../../core/protocol/events.ts'
import { tenantPrefix } from '../../core/protocol/model.ts'
import type { Phase } from '../../core/protocol/states.ts'
import { readLimit } from '../../core/tasks/log.ts'
import {
  activePhases,
  contentPhases,
  type MinuteSummary,
  maxCounted,
  type OperatorLog,
  type OperatorPage,
  type OperatorQuery,
  type OperatorTask,
  ownersOfTenant,
  type TaskActivity,
  type TaskCounts,
  type TimedEvent,
} from '../../core/tasks/operator-log.ts'
import { decodeRow } from '../shared/event-batches.ts'
import type { BackgroundQuery } from './background-thread.ts'
import type { SqliteDatabase, SqliteValue } from './connection.ts'
import { decodeHead, type HeadRow, selectHeads } from './heads.ts'
import {
  createPrepare,
  createSqliteOperatorState,
  type Prepare,
  type SqliteOperatorStateOptions,
} from './operator-state.ts'

export interface SqliteOperatorLogOptions extends SqliteOperatorStateOptions {
  readonly leaseTime: () => number
  /** Runs a read of many rows without blocking the event loop. */
  readonly background: (query: BackgroundQuery) => Promise<readonly unknown[]>
  /** Size of the database in bytes. Defaults to what SQLite reports. */
  readonly size?: () => number
}

/** Statements are prepared when an operator needs them first. */
export function createSqliteOperatorLog(db: SqliteDatabase, options: SqliteOperatorLogOptions): OperatorLog {
  const { query, now, leaseTime } = options
  const prepare = createPrepare(db)
  const { size = () => sizeOf(prepare) } = options
  const times = () => ({ now: now(), leaseTime: leaseTime() })
  return {
    kind: 'SQLite',
    tasks: (filters) =>
      hasIndex(filters) ? query(() => listTasks(prepare, filters, times())) : searchTasks(prepare, filters, options),
    task: (taskId) =>
      query(() => {
        const select = prepare(`${selectHeads('tasks AS task', operatorColumns)} WHERE task.task_id = ?`)
        const row = select.get(taskId) as OperatorRow | undefined
        return row && taskOf(row, times())
      }),
    events: (taskId, after, limit) => query(() => readEvents(prepare, taskId, after, limit)),
    counts: () => query(() => countTasks(prepare, times(), size)),
    ...createMinutes(prepare, options),
    ...createSqliteOperatorState(prepare, options),
  }
}

/** Whether the index over phases leads to the tasks. Otherwise all tasks of these phases have to be read. */
function hasIndex({ search, contextId, principal, tenant, skill }: OperatorQuery): boolean {
  return (search ?? contextId ?? principal ?? tenant ?? skill) === undefined
}

/** The phases whose tasks match. Only active tasks can be stuck. */
function phasesOf({ phases = contentPhases, isStuck }: OperatorQuery): readonly string[] {
  return isStuck ? phases.filter((phase) => activePhases.some((active) => active === phase)) : phases
}

function listTasks(prepare: Prepare, filters: OperatorQuery, times: Times): OperatorPage {
  const { cursor, limit } = filters
  const phases = phasesOf(filters)
  if (phases.length === 0) return { tasks: [], total: 0 }
  const condition = conditionOf(filters, times)
  const counting = selectEach(phases, 'SELECT 1', condition, `LIMIT ${maxCounted}`)
  const counted = prepare(`SELECT count(*) AS total FROM (${counting.sql})`).get(...counting.values) as Total
  const paged = cursor
    ? {
        where: [...condition.where, '(changed, key) < (?, ?)'],
        values: [...condition.values, cursor.changed, cursor.key],
      }
    : condition
  // One row more than the limit shows whether there is another page.
  const end = `${newestFirst} LIMIT ${limit + 1}`
  const keys = selectEach(phases, 'SELECT key, changed', paged, end)
  const found = prepare(`SELECT key FROM (${keys.sql}) ${end}`).all(...keys.values) as KeyRow[]
  return readPage(prepare, { found, total: counted.total, limit, times })
}

/**
 * Lists the tasks that match a text, which no index can find. All tasks are read once, in the background: an operator
 * who searches must not keep the agent waiting.
 */
async function searchTasks(
  prepare: Prepare,
  filters: OperatorQuery,
  { background, query, now, leaseTime }: SqliteOperatorLogOptions,
): Promise<OperatorPage> {
  const { cursor, limit } = filters
  const times = { now: now(), leaseTime: leaseTime() }
  const { where, values } = conditionOf(filters, times)
  const sql = `
    WITH matching AS MATERIALIZED (
      SELECT key, changed FROM tasks WHERE +phase IN (SELECT value FROM json_each(?)) AND ${where.join(' AND ')})
    SELECT key, (SELECT count(*) FROM matching) AS total FROM matching
    ${cursor ? 'WHERE (changed, key) < (?, ?)' : ''} ${newestFirst} LIMIT ${limit + 1}`
  const bound = [JSON.stringify(phasesOf(filters)), ...values, ...(cursor ? [cursor.changed, cursor.key] : [])]
  const found = (await background({ sql, values: bound })) as readonly (KeyRow & Total)[]
  return await query(() => readPage(prepare, { found, total: found[0]?.total ?? 0, limit, times }))
}

interface FoundTasks {
  /** In the order of the page, and one more if there is another page. */
  readonly found: readonly KeyRow[]
  readonly total: number
  readonly limit: number
  readonly times: Times
}

function readPage(prepare: Prepare, { found, total, limit, times }: FoundTasks): OperatorPage {
  const rows = prepare(`
    ${selectHeads('tasks AS task', operatorColumns)} WHERE task.key IN (SELECT value FROM json_each(?))
    ORDER BY task.changed DESC, task.key DESC`).all(JSON.stringify(found.map(({ key }) => key))) as OperatorRow[]
  const page = rows.slice(0, limit)
  const last = rows.length > limit ? page.at(-1) : undefined
  return {
    tasks: page.map((row) => taskOf(row, times)),
    total: Math.min(total, maxCounted),
    next: last && { changed: last.changed, key: last.key },
  }
}

function taskOf(row: OperatorRow, { now, leaseTime }: Times): OperatorTask {
  const { lease_holder: holder, lease_until: until } = row
  const isLive = holder !== null && until !== null && until > leaseTime
  return {
    ...decodeHead(row),
    key: row.key,
    skill: row.skill ?? undefined,
    lease: isLive ? { holder, expires: Math.round(now + until - leaseTime) } : undefined,
  }
}

function countTasks(prepare: Prepare, { now, leaseTime }: Times, size: () => number): TaskCounts {
  // Tasks with a status are counted where they change; the others are in an index of their own.
  const phases = prepare(`
    SELECT phase, sum(total) AS total FROM task_counts GROUP BY phase HAVING sum(total) > 0
    UNION ALL SELECT phase, count(*) FROM tasks INDEXED BY rest_of_owner WHERE status_row IS NULL GROUP BY phase`).all() as PhaseRow[]
  const active = activePhases.map((phase) => `'${phase}'`).join(', ')
  const stuck = prepare(`SELECT count(*) AS total FROM tasks WHERE phase IN (${active}) AND ${stuckSql}`)
  const leases = prepare('SELECT count(*) AS total FROM tasks WHERE lease_until > ?')
  return {
    phases: Object.fromEntries(phases.map(({ phase, total }) => [phase, total])),
    stuck: (stuck.get(leaseTime, now) as Total).total,
    leases: (leases.get(leaseTime) as Total).total,
    bytes: size(),
  }
}

function sizeOf(prepare: Prepare): number {
  const size = prepare('SELECT page_size * page_count AS total FROM pragma_page_size, pragma_page_count')
  return (size.get() as Total).total
}

function createMinutes(
  prepare: Prepare,
  { query, write }: SqliteOperatorLogOptions,
): Pick<OperatorLog, 'activity' | 'minutes' | 'keepMinutes'> {
  return {
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
  }
}

/** One condition for all phases, so that the index of each phase is read only as far as the page needs. */
function conditionOf(filters: OperatorQuery, { now, leaseTime }: Times): Condition {
  const where: string[] = []
  const values: SqliteValue[] = []
  const add = (condition: string, ...bound: SqliteValue[]) => {
    where.push(condition)
    values.push(...bound)
  }
  const { isStuck, principal, tenant, skill, contextId, search, changedSince, changedBefore } = filters
  if (isStuck) add(stuckSql, leaseTime, now)
  if (principal !== undefined) {
    add('(owner = ? OR substr(owner, -length(?)) = ?)', principal, ...twice(`${tenantPrefix('')}${principal}`))
  }
  if (tenant !== undefined) {
    const same = '(substr(owner, 1, length(?)) = ?)'
    add(`(${same} OR ${same})`, ...ownersOfTenant(tenant).flatMap(twice))
  }
  if (skill !== undefined) add('skill = ?', skill)
  if (contextId !== undefined) add('context_id = ?', contextId)
  if (search !== undefined) {
    const inText = `%${escapeLike(search)}%`
    // Comparing the JSON first is cheap, and leaves few messages to parse.
    const inJson = `%${escapeLike(JSON.stringify(search).slice(1, -1))}%`
    add(searchSql, ...[search, search, search, search], inJson, inText)
  }
  if (changedSince !== undefined) add('changed >= ?', changedSince)
  if (changedBefore !== undefined) add('changed < ?', changedBefore)
  return { where, values }
}

/** The same selection of every phase, one after the other. */
function selectEach(phases: readonly string[], select: string, { where, values }: Condition, end: string) {
  const each = `SELECT * FROM (${select} FROM tasks WHERE ${['phase = ?', ...where].join(' AND ')} ${end})`
  const sql = union(phases.map(() => each))
  return { sql, values: phases.flatMap((phase) => [phase, ...values]) }
}

/** All rows of several selections. Nested, because Durable Objects allow only five terms. */
function union(selections: readonly string[]): string {
  if (selections.length <= 4) return selections.join(' UNION ALL ')
  const half = selections.length >> 1
  const halves = [selections.slice(0, half), selections.slice(half)]
  return halves.map((some) => `SELECT * FROM (${union(some)})`).join(' UNION ALL ')
}

function escapeLike(text: string): string {
  return text.replace(/[!%_]/g, '!$&')
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

/** Values: the time of leases, and the time of day. */
const stuckSql = `(lease_holder IS NULL OR lease_until <= ?) AND (wake_at IS NULL OR wake_at <= ?)`

const newestFirst = 'ORDER BY changed DESC, key DESC'

const firstRowSql = '(SELECT events FROM events WHERE task = tasks.key ORDER BY generation LIMIT 1)'

/** A part of an id, an owner or a skill, or a text in the first message, in upper or lower case. */
const searchSql = `(
  instr(task_id, ?) > 0 OR instr(context_id, ?) > 0 OR instr(owner, ?) > 0 OR instr(coalesce(skill, ''), ?) > 0
  OR (${firstRowSql} LIKE ? ESCAPE '!' AND EXISTS (
    SELECT 1 FROM json_each(${firstRowSql}, '$[0].message.parts')
    WHERE json_extract(json_each.value, '$.text') LIKE ? ESCAPE '!')))`

const operatorColumns = 'task.skill, task.lease_holder, task.lease_until,'

const twice = (text: string): readonly [string, string] => [text, text]

/** The time of day and the time of leases. */
interface Times {
  readonly now: number
  readonly leaseTime: number
}

interface Condition {
  readonly where: readonly string[]
  readonly values: readonly SqliteValue[]
}

interface OperatorRow extends HeadRow {
  readonly skill: string | null
  readonly lease_holder: string | null
  readonly lease_until: number | null
}

interface KeyRow {
  readonly key: number
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
