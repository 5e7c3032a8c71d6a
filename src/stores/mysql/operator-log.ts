import { maxValues, type OperatorState } from '../../core/base/operator-state.ts'
import type { TaskEvent } from '../../core/protocol/events.ts'
import { tenantPrefix } from '../../core/protocol/model.ts'
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
} from '../../core/tasks/operator-log.ts'
import type { Database } from '../shared/database.ts'
import { decodeHead, type HeadRow, numbered } from '../shared/heads.ts'
import type { RunWork } from '../shared/log-engine.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { type AddValue, createValues } from '../shared/statement.ts'
import { clockSql, encodeId, encodeKey, rowsOf, rowsSql } from './sql-text.ts'
import { type PageRow, pageSql, selectHeads } from './task-statements.ts'

/** What operators read from a log. Times of leases go by the clock of the database. */
export function createMysqlOperatorLog(db: Database, query: RunWork): OperatorLog {
  const select = db.prepare<OperatorRow, { readonly taskId: string }>(
    ({ taskId }) => `${selectHeads(db, operatorColumns)} WHERE task.task_id = ${taskId}`,
  )
  return {
    kind: 'MySQL',
    ...createReads(db, query),
    ...createMinutes(db, query),
    ...createMysqlOperatorState(db, query),
    tasks: (filters) => query(() => listTasks(db, filters)),
    task: (taskId) =>
      query(async () => {
        const [row] = await select({ taskId: encodeId(taskId) })
        return row && taskOf(row)
      }),
  }
}

async function listTasks(db: Database, filters: OperatorQuery): Promise<OperatorPage> {
  const { cursor, limit, phases = contentPhases } = filters
  const selected = filters.isStuck ? phases.filter((phase) => activePhases.some((each) => each === phase)) : phases
  if (selected.length === 0) return { tasks: [], total: 0 }
  const { values, add } = createValues(numbered)
  const inPhases = `task.phase IN (${selected.map((phase) => `'${phase}'`).join(', ')})`
  const where = [inPhases, ...conditionsOf(db, filters, add)]
  const counting = db.run<{ readonly total: number | string }>({
    text: `SELECT COUNT(*) AS total FROM (
      SELECT 1 FROM ${db.name('tasks')} AS task WHERE ${where.join(' AND ')} LIMIT ${maxCounted}) AS counted`,
    values: [...values],
  })
  if (cursor) where.push(`(task.changed, task.task_key) < (${add(cursor.changed)}, ${add(cursor.key)})`)
  const paging = db.run<OperatorRow>({
    text: `${selectHeads(db, operatorColumns)} WHERE ${where.join(' AND ')}
      ORDER BY task.changed DESC, task.task_key DESC LIMIT ${add(limit + 1)}`,
    values,
  })
  const [[counted], rows] = await Promise.all([counting, paging])
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    tasks: shown.map(taskOf),
    total: Number(counted?.total ?? 0),
    next: last && { changed: Number(last.changed), key: Number(last.key) },
  }
}

function conditionsOf(db: Database, filters: OperatorQuery, add: AddValue): readonly string[] {
  const { isStuck, principal, tenant, skill, contextId, search, changedSince, changedBefore } = filters
  const where: string[] = []
  if (isStuck) where.push(stuckSql)
  if (principal !== undefined) {
    const id = add(encodeKey(principal))
    const ending = encodeText(tenantPrefix(''))
    where.push(`(task.owner = ${id} OR RIGHT(task.owner, CHAR_LENGTH(${id}) + ${ending.length})
      = CONCAT('${ending.replaceAll('\\', '\\\\')}', ${id}))`)
  }
  if (tenant !== undefined) {
    const prefixes = ownersOfTenant(tenant).map((prefix) => add(encodeText(prefix)))
    where.push(`(${prefixes.map((prefix) => `LEFT(task.owner, CHAR_LENGTH(${prefix})) = ${prefix}`).join(' OR ')})`)
  }
  if (skill !== undefined) where.push(`task.skill = ${add(encodeText(skill))}`)
  if (contextId !== undefined) where.push(`task.context_id = ${add(encodeKey(contextId))}`)
  if (search !== undefined) {
    const part = add(encodeText(search))
    const columns = ['task.task_id', 'task.context_id', 'task.owner', "COALESCE(task.skill, '')"]
    const inIds = columns.map((column) => `INSTR(${column}, ${part}) > 0`).join(' OR ')
    const json = JSON.stringify(search).slice(1, -1)
    const like = add(`%${json.replace(/[!%_]/g, '!$&')}%`)
    const pattern = add(`"text":"([^"\\\\]|\\\\.)*${json.replace(/[!-/:-@[-`{-~]/g, '\\$&')}`)
    // Comparing the JSON first is cheap, and leaves few messages to compare by their text.
    const text = 'first.event COLLATE utf8mb4_general_ci'
    const inMessage = `EXISTS (
      SELECT 1 FROM ${db.name('events')} AS first WHERE first.task = task.task_key AND first.generation = 1
      AND CASE WHEN ${text} LIKE ${like} ESCAPE '!' THEN ${text} REGEXP ${pattern} ELSE false END)`
    where.push(`(${inIds} OR ${inMessage})`)
  }
  if (changedSince !== undefined) where.push(`task.changed >= ${add(Math.ceil(changedSince))}`)
  if (changedBefore !== undefined) where.push(`task.changed < ${add(Math.ceil(changedBefore))}`)
  return where
}

function createReads(db: Database, query: RunWork): Pick<OperatorLog, 'events' | 'counts'> {
  const tasks = db.name('tasks')
  const active = activePhases.map((phase) => `'${phase}'`).join(', ')
  const selectEvents = db.prepare<PageRow, { readonly taskId: string; readonly after: number; readonly limit: number }>(
    (value) => pageSql(db, value),
  )
  const countPhases = db.prepare<{ readonly phase: string; readonly total: number | string }>(
    () => `SELECT phase, COUNT(*) AS total FROM ${tasks} GROUP BY phase`,
  )
  const countState = db.prepare<Readonly<Record<'stuck' | 'leases' | 'bytes', number | string | null>>>(
    () => `
    SELECT (SELECT COUNT(*) FROM ${tasks} AS task WHERE task.phase IN (${active}) AND ${stuckSql}) AS stuck,
      (SELECT COUNT(*) FROM ${tasks} WHERE lease_holder IS NOT NULL AND lease_until > ${clockSql}) AS leases,
      (SELECT SUM(data_length + index_length) FROM information_schema.tables
        WHERE table_schema = DATABASE() AND LEFT(table_name, ${db.name('').length}) = '${db.name('')}') AS bytes`,
  )
  return {
    events: (taskId, after, limit) =>
      query(async () => {
        const rows = await selectEvents({ taskId: encodeId(taskId), after, limit })
        return rows.map(({ generation, event, at }) => ({
          generation,
          event: JSON.parse(event) as TaskEvent,
          at: at === null ? undefined : Math.round(at),
        }))
      }),
    counts: () =>
      query(async () => {
        const [phases, [state]] = await Promise.all([countPhases(), countState()])
        return {
          phases: Object.fromEntries(phases.map(({ phase, total }) => [phase, Number(total)])),
          stuck: Number(state?.stuck),
          leases: Number(state?.leases),
          bytes: Number(state?.bytes),
        }
      }),
  }
}

function createMinutes(db: Database, query: RunWork): Pick<OperatorLog, 'activity' | 'minutes' | 'keepMinutes'> {
  const minutes = db.name('operator_minutes')
  const selectActivity = db.prepare<
    Readonly<Record<'key' | 'created' | 'changed', number | string>>,
    { readonly phase: string; readonly changed: number; readonly key: number; readonly limit: number }
  >(
    ({ phase, changed, key, limit }) => `
    SELECT task_key AS \`key\`, created, changed FROM ${db.name('tasks')}
    WHERE phase = ${phase} AND (changed, task_key) > (${changed}, ${key}) ORDER BY changed, task_key LIMIT ${limit}`,
  )
  const selectMinutes = db.prepare<{ readonly summary: string }, { readonly from: number }>(
    ({ from }) => `SELECT summary FROM ${minutes} WHERE minute >= ${from} ORDER BY minute`,
  )
  const removeOld = db.prepareChange<{ readonly before: number }>(
    ({ before }) => `DELETE FROM ${minutes} WHERE minute < ${before}`,
  )
  const insert = db.prepareChange<{ readonly rows: string }>(
    ({ rows }) => `
    INSERT INTO ${minutes} (minute, summary)
    SELECT minute, summary FROM ${rowsSql(rows, { minute: 'long', summary: 'text' })} AS added
    ON DUPLICATE KEY UPDATE summary = ${minutes}.summary`,
  )
  return {
    activity: (phase, { changed, key }, limit) =>
      query(async () => {
        const rows = await selectActivity({ phase, changed: Math.floor(changed), key, limit })
        return rows.map((row) => ({ key: Number(row.key), created: Number(row.created), changed: Number(row.changed) }))
      }),
    minutes: (from) =>
      query(async () => (await selectMinutes({ from })).map(({ summary }) => JSON.parse(summary) as MinuteSummary)),
    keepMinutes: (added, removeBefore) =>
      query(async () => {
        await removeOld({ before: removeBefore })
        await insert({ rows: rowsOf(added, (one) => ({ minute: one.minute, summary: JSON.stringify(one) })) })
      }),
  }
}

/** What operators share, beside a log. */
export function createMysqlOperatorState(db: Database, query: RunWork): OperatorState {
  const [values, records] = [db.name('operator_values'), db.name('operator_records')]
  const selectValue = db.prepare<{ readonly value: string }, { readonly name: string }>(
    ({ name }) => `SELECT value FROM ${values} WHERE name = ${name} AND expires > ${clockSql}`,
  )
  const setValue = db.prepareChange<{ readonly name: string; readonly value: string; readonly expires: number }>(
    ({ name, value, expires }) => `
    INSERT INTO ${values} (name, value, expires) VALUES (${name}, ${value}, ${expires})
    ON DUPLICATE KEY UPDATE value = VALUES(value), expires = VALUES(expires)`,
  )
  const removeExpired = db.prepareChange(() => `DELETE FROM ${values} WHERE expires <= ${clockSql}`)
  // A subquery in a subquery: MySQL cannot limit rows in the condition of a statement itself.
  const removeMany = db.prepareChange(
    () => `
    DELETE FROM ${values} WHERE name NOT IN (
      SELECT name FROM (SELECT name FROM ${values} ORDER BY expires DESC LIMIT ${maxValues}) AS kept)`,
  )
  const removeValue = db.prepareChange<{ readonly name: string }>(
    ({ name }) => `DELETE FROM ${values} WHERE name = ${name}`,
  )
  const readRecords = db.prepare<
    { readonly list: string; readonly number: number | string; readonly at: number; readonly value: string },
    { readonly kind: string; readonly after: number; readonly limit: number; readonly lists: string | null }
  >(
    ({ kind, after, limit, lists }) => `
    SELECT list, number, at, value FROM (
      SELECT id, list, number, at, value FROM ${records} WHERE kind = ${kind} AND number > ${after}
        AND (${lists} IS NULL OR list IN (SELECT one.list FROM ${rowsSql(`COALESCE(${lists}, '[]')`, { list: 'id' })} AS one))
      ORDER BY id DESC LIMIT ${limit}
    ) AS newest ORDER BY id`,
  )
  const trimRecords = db.prepareChange<{ readonly kind: string; readonly before: number; readonly keep: number }>(
    ({ kind, before, keep }) => `
    DELETE FROM ${records} WHERE kind = ${kind} AND (at < ${before} OR id NOT IN (
      SELECT id FROM (SELECT id FROM ${records} WHERE kind = ${kind} ORDER BY id DESC LIMIT ${keep}) AS kept))`,
  )
  /** Appends to lists, and removes what exceeds `keep` in each of them. Two processes that number the same list conflict. */
  const append = (kind: string, rows: string, keep: number) =>
    db.transaction(async (run) => {
      await run<unknown, { readonly kind: string; readonly rows: string }>(
        (value) => `
        INSERT INTO ${records} (kind, list, number, at, value)
        SELECT ${value.kind}, added.list, COALESCE((
            SELECT MAX(old.number) FROM ${records} AS old WHERE old.kind = ${value.kind} AND old.list = added.list), 0)
          + ROW_NUMBER() OVER (PARTITION BY added.list ORDER BY added.at), added.time, added.value
        FROM ${rowsSql(value.rows, { list: 'id', time: 'double', value: 'text' })} AS added
        WHERE ${value.kind} <> 'log' OR added.list IN (
          SELECT task_id FROM ${db.name('tasks')} WHERE task_id = added.list AND phase <> 'expired')
        ORDER BY added.at`,
        { kind, rows },
      )
      await run<unknown, { readonly kind: string; readonly rows: string; readonly keep: number }>(
        (value) => `
        DELETE old FROM (SELECT DISTINCT list FROM ${rowsSql(value.rows, { list: 'id' })} AS added) AS lists
        STRAIGHT_JOIN (SELECT list, MAX(number) AS last FROM ${records} WHERE kind = ${value.kind} GROUP BY list) AS newest
          ON newest.list = lists.list
        STRAIGHT_JOIN ${records} AS old ON old.kind = ${value.kind} AND old.list = lists.list
        WHERE old.number <= newest.last - ${value.keep}`,
        { kind, rows, keep },
      )
    })

  return {
    values: {
      get: (name) =>
        query(async () => {
          const [row] = await selectValue({ name: encodeKey(name) })
          return row && decodeText(row.value)
        }),
      set: (name, value, expires) =>
        query(async () => {
          await setValue({ name: encodeKey(name), value: encodeText(value), expires })
          await removeExpired()
          await removeMany()
        }),
      delete: (name) =>
        query(async () => {
          await removeValue({ name: encodeKey(name) })
        }),
    },
    records: {
      append: (kind, added, keep) =>
        query(async () => {
          if (added.length === 0) return
          const rows = rowsOf(added, ({ list, at, value }) => ({
            list: encodeId(list),
            time: at,
            value: encodeText(value),
          }))
          for (let attempt = 1; ; attempt++) {
            try {
              return await append(kind, rows, keep)
            } catch (error) {
              if (!db.errors.isConflict(error) || attempt === maxAttempts) throw error
            }
          }
        }),
      read: (kind, { lists, after = 0, limit }) =>
        query(async () => {
          const wanted = lists ? rowsOf(lists, (list) => ({ list: encodeId(list) })) : null
          const rows = await readRecords({ kind, after, limit, lists: wanted })
          return rows.map(({ list, number, at, value }) => ({
            list: decodeText(list),
            number: Number(number),
            at,
            value: decodeText(value),
          }))
        }),
      trim: (kind, before, keep) =>
        query(async () => {
          await trimRecords({ kind, before, keep })
        }),
    },
  }
}

/** Attempts to append, if other replicas append to the same lists at the same moment. */
const maxAttempts = 20

/** No process has a live lease, and none is due to take one later. */
const stuckSql = `(task.lease_until IS NULL OR task.lease_until <= ${clockSql})`

const operatorColumns = `task.skill, task.lease_holder, task.lease_until - ${clockSql} AS lease_left,`

interface OperatorRow extends HeadRow {
  readonly skill: string | null
  readonly lease_holder: string | null
  /** Milliseconds. */
  readonly lease_left: number | string | null
}

function taskOf(row: OperatorRow): OperatorTask {
  const { lease_holder: holder, lease_left: left } = row
  const isLive = holder !== null && left !== null && Number(left) > 0
  return {
    ...decodeHead(row),
    key: Number(row.key),
    skill: row.skill === null ? undefined : decodeText(row.skill),
    lease: isLive ? { holder: decodeText(holder), expires: Math.round(Date.now() + Number(left)) } : undefined,
  }
}
