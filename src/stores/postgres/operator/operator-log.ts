import type { TaskEvent } from '../../../core/protocol/events.ts'
import { tenantPrefix } from '../../../core/protocol/model.ts'
import { readLimit } from '../../../core/tasks/log.ts'
import {
  activePhases,
  contentPhases,
  type MinuteSummary,
  maxCounted,
  type OperatorLog,
  type OperatorPage,
  type OperatorQuery,
  type OperatorTask,
  type TaskActivity,
} from '../../../core/tasks/operator-log.ts'
import type { Database, PostgresValue } from '../connection.ts'
import { decodeHead, type HeadRow, selectHeads } from '../heads.ts'
import { array, decodeText, encodeText } from '../sql-text.ts'
import { createPostgresOperatorState, type RunQuery } from './operator-state.ts'

/** What operators read from the schema of a log. Times of leases go by the clock of the database. */
export function createPostgresOperatorLog(db: Database, query: RunQuery): OperatorLog {
  const select = selectHeads(db, operatorColumns)
  return {
    kind: 'PostgreSQL',
    ...createReads(db, query),
    ...createMinutes(db, query),
    ...createPostgresOperatorState(db, query),
    tasks: (filters) => query(() => listTasks(db, filters)),
    task: (taskId) =>
      query(async () => {
        const [row] = await db.prepare<OperatorRow>(`${select} WHERE task.task_id = $1`)(encodeText(taskId))
        return row && taskOf(row)
      }),
  }
}

async function listTasks(db: Database, filters: OperatorQuery): Promise<OperatorPage> {
  const { cursor, limit, phases = contentPhases } = filters
  const selected = filters.isStuck ? phases.filter((phase) => activePhases.some((each) => each === phase)) : phases
  if (selected.length === 0) return { tasks: [], total: 0 }
  const { where, bound } = conditionOf(db, filters)
  const paged = [...bound]
  const after = cursor ? [`(changed, key) < ($${paged.push(cursor.changed)}, $${paged.push(cursor.key)})`] : []
  const search = { ...filters, phases: selected, where, after, bound, paged }
  const isSearch = (filters.search ?? filters.contextId ?? filters.principal ?? filters.skill) !== undefined
  const { keys, total } = await (isSearch ? findBySearch(db, search) : findByPhase(db, search))
  const select = db.prepare<OperatorRow>(`
    ${selectHeads(db, operatorColumns)} WHERE task.key = ANY ($1::bigint[])
    ORDER BY task.changed DESC, task.key DESC`)
  const rows = await select(array(keys))
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    tasks: shown.map(taskOf),
    total: Math.min(total, maxCounted),
    next: last && { changed: last.changed, key: last.key },
  }
}

interface Search {
  readonly phases: readonly string[]
  /** Conditions of all tasks that match, with their values. */
  readonly where: readonly string[]
  readonly bound: readonly PostgresValue[]
  /** The condition of the tasks after the cursor, and the values with its own. */
  readonly after: readonly string[]
  readonly paged: readonly PostgresValue[]
  readonly limit: number
}

/** The keys of a page, and one more if there is another page; and how many tasks match. */
interface FoundKeys {
  readonly keys: readonly number[]
  readonly total: number
}

/** Of each phase, the index is read only as far as the page needs. */
async function findByPhase(db: Database, { phases, where, bound, after, paged, limit }: Search): Promise<FoundKeys> {
  const each = (columns: string, conditions: readonly string[], end: string) =>
    phases
      .map((phase) => {
        const all = [`phase = '${phase}'`, ...conditions].join(' AND ')
        return `(SELECT ${columns} FROM ${db.name('tasks')} AS task WHERE ${all} ${end})`
      })
      .join(' UNION ALL ')
  const count = db.prepare<Total>(
    `SELECT count(*)::float8 AS total FROM (${each('1', where, `LIMIT ${maxCounted}`)}) AS counted`,
  )
  const end = `${newestFirst} LIMIT ${limit + 1}`
  const page = db.prepare<KeyRow>(
    `SELECT key::float8 FROM (${each('key, changed', [...where, ...after], end)}) AS found ${end}`,
  )
  const [[counted], rows] = await Promise.all([count(...bound), page(...paged)])
  return { keys: rows.map(({ key }) => key), total: counted?.total ?? 0 }
}

/** No index helps: all tasks are read, once. */
async function findBySearch(db: Database, { phases, where, after, paged, limit }: Search): Promise<FoundKeys> {
  const inPhases = `phase IN (${phases.map((phase) => `'${phase}'`).join(', ')})`
  const find = db.prepare<KeyRow & Total>(`
    WITH matching AS MATERIALIZED (
      SELECT key, changed FROM ${db.name('tasks')} AS task WHERE ${[inPhases, ...where].join(' AND ')})
    SELECT key::float8, (SELECT count(*) FROM matching)::float8 AS total FROM matching
    ${after.length > 0 ? `WHERE ${after.join(' AND ')}` : ''} ${newestFirst} LIMIT ${limit + 1}`)
  const rows = await find(...paged)
  return { keys: rows.map(({ key }) => key), total: rows[0]?.total ?? 0 }
}

function createReads(db: Database, query: RunQuery): Pick<OperatorLog, 'events' | 'counts'> {
  const tasks = db.name('tasks')
  const active = activePhases.map((phase) => `'${phase}'`).join(', ')
  return {
    events: (taskId, after, limit) =>
      query(async () => {
        const read = db.prepare<EventRow>(`
          SELECT generation, event, at FROM (
            SELECT generation, event, at, sum(octet_length(event)) OVER so_far - octet_length(event) AS before
            FROM (
              SELECT generation, event, at FROM ${db.name('events')}
              WHERE task = (SELECT key FROM ${tasks} WHERE task_id = $1) AND generation > $2 AND generation <= $2 + $3
            ) AS page
            WINDOW so_far AS (ORDER BY generation ROWS UNBOUNDED PRECEDING)
          ) AS weighed
          WHERE before < ${readLimit.bytes} ORDER BY generation`)
        const rows = await read(encodeText(taskId), after, limit)
        return rows.map(({ generation, event, at }) => ({
          generation,
          event: JSON.parse(event) as TaskEvent,
          at: at === null ? undefined : Math.round(at),
        }))
      }),

    counts: () =>
      query(async () => {
        const [phases, [state]] = await Promise.all([
          db.prepare<PhaseRow>(`SELECT phase, count(*)::float8 AS total FROM ${tasks} GROUP BY phase`)(),
          db.prepare<StateRow>(`
            SELECT (SELECT count(*) FROM ${tasks} WHERE phase IN (${active}) AND ${stuckSql})::float8 AS stuck,
              (SELECT count(*) FROM ${tasks}
                WHERE lease_holder IS NOT NULL AND lease_until > statement_timestamp())::float8 AS leases,
              (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = (
                SELECT relnamespace FROM pg_class WHERE oid = '${tasks}'::regclass))::float8 AS bytes`)(),
        ])
        return {
          phases: Object.fromEntries(phases.map(({ phase, total }) => [phase, total])),
          stuck: state?.stuck ?? 0,
          leases: state?.leases ?? 0,
          ...(state?.bytes != null && { bytes: state.bytes }),
        }
      }),
  }
}

function createMinutes(db: Database, query: RunQuery): Pick<OperatorLog, 'activity' | 'minutes' | 'keepMinutes'> {
  const tasks = db.name('tasks')
  const minutes = db.name('operator_minutes')
  return {
    activity: (phase, after, limit) =>
      query(() =>
        db.prepare<TaskActivity>(`
          SELECT key::float8, created::float8, changed::float8 FROM ${tasks}
          WHERE phase = $1 AND (changed, key) > ($2, $3) ORDER BY changed, key LIMIT $4`)(
          phase,
          Math.floor(after.changed),
          after.key,
          limit,
        ),
      ),

    minutes: (from) =>
      query(async () => {
        const read = db.prepare<{ readonly summary: string }>(
          `SELECT summary FROM ${minutes} WHERE minute >= $1 ORDER BY minute`,
        )
        return (await read(from)).map(({ summary }) => JSON.parse(summary) as MinuteSummary)
      }),

    keepMinutes: (added, removeBefore) =>
      query(async () => {
        const insert = db.prepare(`
          WITH removed AS (DELETE FROM ${minutes} WHERE minute < $2)
          INSERT INTO ${minutes} (minute, summary)
          SELECT (line::json ->> 'minute')::bigint, line
          FROM unnest(string_to_array(nullif($1, ''), E'\\n')) AS line
          ON CONFLICT (minute) DO NOTHING`)
        await insert(added.map((summary) => JSON.stringify(summary)).join('\n'), removeBefore)
      }),
  }
}

function conditionOf(
  db: Database,
  filters: OperatorQuery,
): { readonly where: readonly string[]; readonly bound: PostgresValue[] } {
  const where: string[] = []
  const bound: PostgresValue[] = []
  const add = (value: PostgresValue, condition: (parameter: string) => string) => {
    bound.push(value)
    where.push(condition(`$${bound.length}`))
  }
  const { isStuck, principal, skill, contextId, search, changedSince } = filters
  if (isStuck) where.push(stuckSql)
  if (principal !== undefined) {
    add(
      encodeText(principal),
      (id) => `(owner = ${id} OR right(owner, length(${id}) + ${ending.length}) = '${ending}' || ${id})`,
    )
  }
  if (skill !== undefined) add(encodeText(skill), (name) => `skill = ${name}`)
  if (contextId !== undefined) add(encodeText(contextId), (id) => `context_id = ${id}`)
  if (search !== undefined) {
    const isIn = (part: string) => (column: string) => `strpos(${column}, ${part}) > 0`
    const columns = ['task_id', 'context_id', 'owner', "coalesce(skill, '')"]
    const inIds = (part: string) => columns.map(isIn(part)).join(' OR ')
    add(encodeText(search), inIds)
    const json = JSON.stringify(search).slice(1, -1)
    bound.push(
      `%${json.replace(/[!%_]/g, '!$&')}%`,
      `"text":"([^"\\\\]|\\\\.)*${json.replace(/[!-/:-@[-`{-~]/g, '\\$&')}`,
    )
    const [like, pattern] = [bound.length - 1, bound.length]
    // Comparing the JSON first is cheap, and leaves few messages to compare by their text.
    const inMessage = `EXISTS (
      SELECT 1 FROM ${db.name('events')} AS first WHERE first.task = task.key AND first.generation = 1
      AND CASE WHEN first.event ILIKE $${like} ESCAPE '!' THEN first.event ~* $${pattern} ELSE false END)`
    where.push(`(${where.pop()} OR ${inMessage})`)
  }
  if (changedSince !== undefined) add(Math.ceil(changedSince), (time) => `changed >= ${time}`)
  return { where, bound }
}

/** The end of a tenant in the name of an owner, as it is stored. */
const ending = encodeText(tenantPrefix(''))

/** No process has a live lease, and none is due to take one later. */
const stuckSql = '(lease_until IS NULL OR lease_until <= statement_timestamp())'

const newestFirst = 'ORDER BY changed DESC, key DESC'

const operatorColumns = `task.skill, task.lease_holder,
  (extract(epoch FROM task.lease_until - statement_timestamp()) * 1000)::float8 AS lease_left,`

function taskOf(row: OperatorRow): OperatorTask {
  const { lease_holder: holder, lease_left: left } = row
  const isLive = holder !== null && left !== null && left > 0
  return {
    ...decodeHead(row),
    key: row.key,
    skill: row.skill === null ? undefined : decodeText(row.skill),
    lease: isLive ? { holder: decodeText(holder), expires: Math.round(Date.now() + left) } : undefined,
  }
}

interface OperatorRow extends HeadRow {
  readonly skill: string | null
  readonly lease_holder: string | null
  /** Milliseconds. */
  readonly lease_left: number | null
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

interface StateRow {
  readonly stuck: number
  readonly leases: number
  readonly bytes: number | null
}

interface EventRow {
  readonly generation: number
  readonly event: string
  readonly at: number | null
}
