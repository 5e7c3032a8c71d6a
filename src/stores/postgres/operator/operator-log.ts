import { defined } from '../../../core/base/json.ts'
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
  ownersOfTenant,
  type TaskActivity,
} from '../../../core/tasks/operator-log.ts'
import type { Database } from '../../shared/database.ts'
import { decodeHead, type HeadRow, numbered } from '../../shared/heads.ts'
import { decodeText, encodeText } from '../../shared/sql-text.ts'
import { type AddValue, createValues, type SqlValue } from '../../shared/statement.ts'
import { selectHeads } from '../heads.ts'
import { array, linesSql } from '../sql-text.ts'
import { createPostgresOperatorState, type RunQuery } from './operator-state.ts'

/** What operators read from the schema of a log. Times of leases go by the clock of the database. */
export function createPostgresOperatorLog(db: Database, query: RunQuery): OperatorLog {
  const select = db.prepare<OperatorRow, { readonly taskId: string }>(
    ({ taskId }) => `${selectHeads(db, operatorColumns)} WHERE task.task_id = ${taskId}`,
  )
  return {
    kind: 'PostgreSQL',
    ...createReads(db, query),
    ...createMinutes(db, query),
    ...createPostgresOperatorState(db, query),
    tasks: (filters) => query(() => listTasks(db, filters)),
    task: (taskId) =>
      query(async () => {
        const [row] = await select({ taskId: encodeText(taskId) })
        return row && taskOf(row)
      }),
  }
}

async function listTasks(db: Database, filters: OperatorQuery): Promise<OperatorPage> {
  const { cursor, limit, phases = contentPhases } = filters
  const selected = filters.isStuck ? phases.filter((phase) => activePhases.some((each) => each === phase)) : phases
  if (selected.length === 0) return { tasks: [], total: 0 }
  const { values: paged, add } = createValues(numbered)
  const where = conditionsOf(db, filters, add)
  const bound = [...paged]
  const after = cursor ? [`(changed, key) < (${add(cursor.changed)}, ${add(cursor.key)})`] : []
  const search = { ...filters, phases: selected, where, after, bound, paged }
  const { search: text, contextId, principal, tenant, skill } = filters
  const isSearch = (text ?? contextId ?? principal ?? tenant ?? skill) !== undefined
  const { keys, total } = await (isSearch ? findBySearch(db, search) : findByPhase(db, search))
  const select = db.prepare<OperatorRow, { readonly keys: string }>(
    (value) => `
    ${selectHeads(db, operatorColumns)} WHERE task.key = ANY (${value.keys}::bigint[])
    ORDER BY task.changed DESC, task.key DESC`,
  )
  const rows = await select({ keys: array(keys) })
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    tasks: shown.map(taskOf),
    total: Math.min(total, maxCounted),
    next: last && { changed: Number(last.changed), key: Number(last.key) },
  }
}

interface Search {
  readonly phases: readonly string[]
  /** Conditions of all tasks that match, with their values. */
  readonly where: readonly string[]
  readonly bound: readonly SqlValue[]
  /** The condition of the tasks after the cursor, and the values with its own. */
  readonly after: readonly string[]
  readonly paged: readonly SqlValue[]
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
  const count = `SELECT count(*)::float8 AS total FROM (${each('1', where, `LIMIT ${maxCounted}`)}) AS counted`
  const end = `${newestFirst} LIMIT ${limit + 1}`
  const page = `SELECT key::float8 FROM (${each('key, changed', [...where, ...after], end)}) AS found ${end}`
  const [[counted], rows] = await Promise.all([
    db.run<Total>({ text: count, values: bound }),
    db.run<KeyRow>({ text: page, values: paged }),
  ])
  return { keys: rows.map(({ key }) => key), total: counted?.total ?? 0 }
}

/** No index helps: all tasks are read, once. */
async function findBySearch(db: Database, { phases, where, after, paged, limit }: Search): Promise<FoundKeys> {
  const inPhases = `phase IN (${phases.map((phase) => `'${phase}'`).join(', ')})`
  const text = `
    WITH matching AS MATERIALIZED (
      SELECT key, changed FROM ${db.name('tasks')} AS task WHERE ${[inPhases, ...where].join(' AND ')})
    SELECT key::float8, (SELECT count(*) FROM matching)::float8 AS total FROM matching
    ${after.length > 0 ? `WHERE ${after.join(' AND ')}` : ''} ${newestFirst} LIMIT ${limit + 1}`
  const rows = await db.run<KeyRow & Total>({ text, values: paged })
  return { keys: rows.map(({ key }) => key), total: rows[0]?.total ?? 0 }
}

function createReads(db: Database, query: RunQuery): Pick<OperatorLog, 'events' | 'counts'> {
  const tasks = db.name('tasks')
  const active = activePhases.map((phase) => `'${phase}'`).join(', ')
  const selectEvents = db.prepare<
    EventRow,
    { readonly taskId: string; readonly after: number; readonly limit: number }
  >(
    ({ taskId, after, limit }) => `
    SELECT generation, event, at FROM (
      SELECT generation, event, at, sum(octet_length(event)) OVER so_far - octet_length(event) AS before
      FROM (
        SELECT generation, event, at FROM ${db.name('events')}
        WHERE task = (SELECT key FROM ${tasks} WHERE task_id = ${taskId})
          AND generation > ${after} AND generation <= ${after} + ${limit}
      ) AS page
      WINDOW so_far AS (ORDER BY generation ROWS UNBOUNDED PRECEDING)
    ) AS weighed
    WHERE before < ${readLimit.bytes} ORDER BY generation`,
  )
  // Tasks with a status are counted where they change; the others are in an index of their own.
  const countPhases = db.prepare<PhaseRow>(
    () => `
    SELECT phase, sum(total)::float8 AS total FROM ${db.name('task_counts')} GROUP BY phase HAVING sum(total) > 0
    UNION ALL SELECT phase, count(*)::float8 FROM ${tasks} WHERE status_generation IS NULL GROUP BY phase`,
  )
  const countState = db.prepare<StateRow>(
    () => `
    SELECT (SELECT count(*) FROM ${tasks} WHERE phase IN (${active}) AND ${stuckSql})::float8 AS stuck,
      (SELECT count(*) FROM ${tasks}
        WHERE lease_holder IS NOT NULL AND lease_until > statement_timestamp())::float8 AS leases,
      (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = (
        SELECT relnamespace FROM pg_class WHERE oid = '${tasks}'::regclass))::float8 AS bytes`,
  )
  return {
    events: (taskId, after, limit) =>
      query(async () => {
        const rows = await selectEvents({ taskId: encodeText(taskId), after, limit })
        return rows.map(({ generation, event, at }) => ({
          generation,
          event: JSON.parse(event) as TaskEvent,
          at: at === null ? undefined : Math.round(at),
        }))
      }),

    counts: () =>
      query(async () => {
        const [phases, [state]] = await Promise.all([countPhases(), countState()])
        return defined({
          phases: Object.fromEntries(phases.map(({ phase, total }) => [phase, total])),
          stuck: state?.stuck ?? 0,
          leases: state?.leases ?? 0,
          bytes: state?.bytes ?? undefined,
        })
      }),
  }
}

function createMinutes(db: Database, query: RunQuery): Pick<OperatorLog, 'activity' | 'minutes' | 'keepMinutes'> {
  const tasks = db.name('tasks')
  const minutes = db.name('operator_minutes')
  const selectActivity = db.prepare<
    TaskActivity,
    { readonly phase: string; readonly changed: number; readonly key: number; readonly limit: number }
  >(
    ({ phase, changed, key, limit }) => `
    SELECT key::float8, created::float8, changed::float8 FROM ${tasks}
    WHERE phase = ${phase} AND (changed, key) > (${changed}, ${key}) ORDER BY changed, key LIMIT ${limit}`,
  )
  const selectMinutes = db.prepare<{ readonly summary: string }, { readonly from: number }>(
    ({ from }) => `SELECT summary FROM ${minutes} WHERE minute >= ${from} ORDER BY minute`,
  )
  const insert = db.prepare<unknown, { readonly summaries: string; readonly removeBefore: number }>(
    ({ summaries, removeBefore }) => `
    WITH removed AS (DELETE FROM ${minutes} WHERE minute < ${removeBefore})
    INSERT INTO ${minutes} (minute, summary)
    SELECT (line::json ->> 'minute')::bigint, line FROM unnest(${linesSql(`nullif(${summaries}, '')`)}) AS line
    ON CONFLICT (minute) DO NOTHING`,
  )
  return {
    activity: (phase, { changed, key }, limit) =>
      query(() => selectActivity({ phase, changed: Math.floor(changed), key, limit })),

    minutes: (from) =>
      query(async () => (await selectMinutes({ from })).map(({ summary }) => JSON.parse(summary) as MinuteSummary)),

    keepMinutes: (added, removeBefore) =>
      query(async () => {
        await insert({ summaries: added.map((summary) => JSON.stringify(summary)).join('\n'), removeBefore })
      }),
  }
}

function conditionsOf(db: Database, filters: OperatorQuery, add: AddValue): readonly string[] {
  const where: string[] = []
  const { isStuck, principal, tenant, skill, contextId, search, changedSince, changedBefore } = filters
  if (isStuck) where.push(stuckSql)
  if (principal !== undefined) {
    const id = add(encodeText(principal))
    where.push(`(owner = ${id} OR right(owner, length(${id}) + ${ending.length}) = '${ending}' || ${id})`)
  }
  if (tenant !== undefined) {
    const prefixes = ownersOfTenant(tenant).map((prefix) => `starts_with(owner, ${add(encodeText(prefix))})`)
    where.push(`(${prefixes.join(' OR ')})`)
  }
  if (skill !== undefined) where.push(`skill = ${add(encodeText(skill))}`)
  if (contextId !== undefined) where.push(`context_id = ${add(encodeText(contextId))}`)
  if (search !== undefined) {
    const part = add(encodeText(search))
    const columns = ['task_id', 'context_id', 'owner', "coalesce(skill, '')"]
    const inIds = columns.map((column) => `strpos(${column}, ${part}) > 0`).join(' OR ')
    const json = JSON.stringify(search).slice(1, -1)
    const like = add(`%${json.replace(/[!%_]/g, '!$&')}%`)
    const pattern = add(`"text":"([^"\\\\]|\\\\.)*${json.replace(/[!-/:-@[-`{-~]/g, '\\$&')}`)
    // Comparing the JSON first is cheap, and leaves few messages to compare by their text.
    const inMessage = `EXISTS (
      SELECT 1 FROM ${db.name('events')} AS first WHERE first.task = task.key AND first.generation = 1
      AND CASE WHEN first.event ILIKE ${like} ESCAPE '!' THEN first.event ~* ${pattern} ELSE false END)`
    where.push(`(${inIds} OR ${inMessage})`)
  }
  if (changedSince !== undefined) where.push(`changed >= ${add(Math.ceil(changedSince))}`)
  if (changedBefore !== undefined) where.push(`changed < ${add(Math.ceil(changedBefore))}`)
  return where
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
    key: Number(row.key),
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
