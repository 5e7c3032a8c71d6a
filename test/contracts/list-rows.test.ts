import { join } from 'node:path'
import type mysql from 'mysql2/promise'
import type pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { ListQuery, TaskLog } from '../../src/core/tasks/log.ts'
import { createMysqlLog } from '../../src/entries/mysql.ts'
import { createPostgresLog, type PostgresPool } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import type { SqliteDriver } from '../../src/stores/sqlite/connection.ts'
import { nodeDriver } from '../../src/stores/sqlite/node-driver.ts'
import { createTask, status, upTo } from '../../src/testing/stores/task-log/fixtures.ts'
import { hasMariadb, openMariadbPool } from '../support/mariadb/database.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openMigratedPool } from '../support/postgres/pools.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

startServerFirst()

/** Lists whose page has at most ten tasks, and how many tasks they have of `stored` ones. */
const limit = 10
const queries: readonly (readonly [name: string, query: ListQuery, total: (stored: number) => number])[] = [
  ['all tasks', { owner: 'alice', limit }, (stored) => stored],
  ['a later page', { owner: 'alice', limit, cursor: { changed: 1_100, key: 1_000_000 } }, (stored) => stored],
  ['a frequent state', { owner: 'alice', phase: 'completed', limit }, (stored) => stored - 3],
  ['a rare state', { owner: 'alice', phase: 'failed', limit }, () => 3],
  ['a state without tasks', { owner: 'alice', phase: 'working', limit }, () => 0],
  ['a context', { owner: 'alice', contextId: 'rare', limit }, () => 3],
  ['an owner without tasks', { owner: 'bob', limit }, () => 0],
  ['the tasks of everyone', { owner: 'bob', also: 'everyone', limit }, (stored) => stored],
  ['a state of everyone', { owner: 'bob', also: 'everyone', phase: 'failed', limit }, () => 3],
]

/** At most a page of each of the nine states, their heads, events and counts. */
const maxRows = 300

const few = 1_000
const many = 4_000

describe('a list of four times as many tasks reads no more rows', () => {
  test('in PostgreSQL', async () => {
    const pool = await openMigratedPool()
    const log = await createPostgresLog({ pool })
    onTestFinished(() => log.close())
    const fill = (from: number, to: number) =>
      pool.query(`
        WITH task AS (
          INSERT INTO parley.tasks (task_id, context_id, owner, generation, phase, status_generation, status_answered,
            created, changed, ended, fence)
          SELECT n, CASE WHEN n <= 3 THEN 'rare' ELSE 'usual' END, 'alice', 1,
            CASE WHEN n <= 3 THEN 'failed' ELSE 'completed' END, 1, false, 1000 + n, 1000 + n, true, 1
          FROM generate_series(${from}, ${to}) AS n RETURNING key
        )
        INSERT INTO parley.events (task, generation, event, token)
        SELECT key, 1, '${JSON.stringify(status('completed'))}', 0 FROM task`)
    const counting = countingPool(pool)
    const counted = await createPostgresLog({ pool: counting })
    onTestFinished(() => counted.close())
    await expectNoMoreRows(counted, fill, async (list) => {
      await pool.query('ANALYZE parley.tasks, parley.events, parley.task_counts')
      counting.touched = 0
      await list()
      return counting.touched
    })
  })

  test.runIf(hasMariadb)('in MySQL', async () => {
    const pool = await openMariadbPool()
    const log = await createMysqlLog({ pool })
    onTestFinished(() => log.close())
    const fill = async (from: number, to: number) => {
      const numbers = `(SELECT seq AS n FROM seq_${from}_to_${to}) AS numbers`
      await pool.query(`
        INSERT INTO parley_tasks (task_id, context_id, owner, generation, phase, status_generation, status_answered,
          created, changed, ended, fence)
        SELECT n, IF(n <= 3, 'rare', 'usual'), 'alice', 1, IF(n <= 3, 'failed', 'completed'), 1, 0, 1000 + n, 1000 + n, 1, 1
        FROM ${numbers}`)
      await pool.query(`INSERT INTO parley_events (task, generation, event, token)
        SELECT task_key, 1, '${JSON.stringify(status('completed'))}', 0 FROM parley_tasks WHERE task_id >= ${from} AND task_id <= ${to}`)
      await pool.query(`INSERT INTO parley_task_counts (owner, phase, token, total)
        SELECT owner, phase, ${from}, COUNT(*) FROM parley_tasks WHERE task_id >= ${from} AND task_id <= ${to} GROUP BY owner, phase`)
    }
    const rowsRead = async () => {
      const [rows] = await pool.query(`SELECT SUM(rows_read) AS total FROM information_schema.table_statistics
        WHERE table_schema = DATABASE()`)
      return Number((rows as readonly mysql.RowDataPacket[])[0]?.total ?? 0)
    }
    await pool.query('SET GLOBAL userstat = 1')
    await expectNoMoreRows(log, fill, async (list) => {
      await pool.query('ANALYZE TABLE parley_tasks, parley_events, parley_task_counts')
      const before = await rowsRead()
      await list()
      return (await rowsRead()) - before
    })
  })
})

test.each(queries)('SQLite finds %s by an index, in the order of the page', async (_, query) => {
  const statements: string[] = []
  const file = join(await temporaryDirectory(), 'tasks.db')
  const log = createSqliteLog({ file, driver: recordingDriver(statements) })
  onTestFinished(() => log.close())
  for (const n of upTo(30)) await createTask(log, {}, status(n > 3 ? 'completed' : 'failed', 1_000 + n))
  statements.length = 0
  await log.list(query)
  expect(statements).toHaveLength(2)
  const db = nodeDriver(file)
  for (const sql of statements) {
    const values = Array.from({ length: sql.split('?').length - 1 }, () => 1)
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as PlanStep[]
    // Counts of all owners are few; only they are read one by one.
    const scans = sql.includes('task_counts') ? [] : plan.filter(({ detail }) => /^SCAN (task|status)\b/.test(detail))
    expect(scans).toEqual([])
    // Only tasks of a page are sorted, after a limit.
    const searches = plan.filter(({ detail }) => /^SEARCH task USING (COVERING )?INDEX/.test(detail))
    const sorted = plan.filter(({ detail }) => /TEMP B-TREE/.test(detail)).map(({ parent }) => parent)
    expect(searches.filter(({ parent }) => sorted.includes(parent))).toEqual([])
  }
  db.close()
})

/** Tasks, an answer without a task and tombstones. */
const selections = [{ owner: 'alice' }, { contextId: 'c' }, { owner: 'alice', contextId: 'c' }] as const

test.each(selections)('SQLite finds the tasks of %o to erase by an index', async (selection) => {
  const statements: string[] = []
  const file = join(await temporaryDirectory(), 'tasks.db')
  const log = createSqliteLog({ file, driver: recordingDriver(statements) })
  onTestFinished(() => log.close())
  for (const n of upTo(30)) await createTask(log, { contextId: 'c' }, status('completed', 1_000 + n))
  await createTask(log, { contextId: 'c' })
  statements.length = 0
  expect(await log.erase(selection, 100)).toHaveLength(31)
  const selects = statements.filter((sql) => /SELECT.*FROM tasks/s.test(sql))
  expect(selects).toHaveLength(1)
  const db = nodeDriver(file)
  for (const sql of selects) {
    const values = Array.from({ length: sql.split('?').length - 1 }, () => 1)
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as PlanStep[]
    expect(plan.filter(({ detail }) => /^SCAN /.test(detail))).toEqual([])
  }
  db.close()
})

test('PostgreSQL reads no more rows to erase a few of many tasks', async () => {
  const pool = await openMigratedPool()
  const counting = countingPool(pool)
  const log = await createPostgresLog({ pool: counting })
  onTestFinished(() => log.close())
  await pool.query(`
    INSERT INTO parley.tasks (task_id, context_id, owner, generation, phase, status_generation, status_answered,
      created, changed, ended, fence)
    SELECT n, 'context ' || n % 1000, 'owner ' || n % 1000, 1, CASE WHEN n % 2 = 0 THEN 'completed' ELSE 'expired' END,
      CASE WHEN n % 2 = 0 THEN 1 END, false, n, n, true, 1 FROM generate_series(1, 10000) AS n`)
  await pool.query('ANALYZE parley.tasks, parley.events')
  const selectionsOf = [{ owner: 'owner 1' }, { contextId: 'context 2' }, { owner: 'owner 3', contextId: 'context 3' }]
  for (const selection of selectionsOf) {
    counting.touched = 0
    expect(await log.erase(selection, 100)).toHaveLength(10)
    expect(counting.touched).toBeLessThan(maxRows)
  }
})

interface PlanStep {
  readonly parent: number
  readonly detail: string
}

function recordingDriver(statements: string[]): SqliteDriver {
  return (path) => {
    const db = nodeDriver(path)
    return {
      exec: (sql) => db.exec(sql),
      close: () => db.close(),
      prepare(sql) {
        statements.push(sql)
        return db.prepare(sql)
      },
    }
  }
}

async function expectNoMoreRows(
  log: TaskLog,
  fill: (from: number, to: number) => Promise<unknown>,
  rowsOf: (list: () => Promise<unknown>) => Promise<number>,
): Promise<void> {
  const read = async (stored: number) => {
    const rows: Record<string, number> = {}
    for (const [name, query, total] of queries) {
      rows[name] = await rowsOf(async () => expect((await log.list(query)).total, name).toBe(total(stored)))
    }
    return rows
  }
  await fill(1, few)
  const before = await read(few)
  await fill(few + 1, many)
  const after = await read(many)
  for (const [name, rows] of Object.entries(after)) {
    expect(rows, name).toBeLessThanOrEqual(maxRows)
    expect(rows, name).toBeLessThanOrEqual((before[name] ?? 0) + 2 * limit)
  }
}

interface CountingPool extends PostgresPool {
  /** Rows of any table that the executed queries have touched. */
  touched: number
}

/** Runs each query once more, and counts what the database touches for it. */
function countingPool(pool: pg.Pool): CountingPool {
  const counting: CountingPool = {
    touched: 0,
    async query({ text, values }) {
      if (/^\s*SELECT/.test(text) && /\.tasks\b|\.task_counts\b/.test(text)) {
        const explained = { text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values }
        const { rows } = await pool.query<{ readonly 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(explained)
        counting.touched += touchedBy(rows[0]?.['QUERY PLAN'][0]?.Plan)
      }
      return await pool.query({ text, values })
    },
    on: pool.on.bind(pool),
    connect: () => Promise.reject(new Error('no connection is held, so that every statement is counted')),
  }
  return counting
}

interface Plan {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

function touchedBy(plan: Plan | undefined): number {
  if (!plan) return 0
  const rows = plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)
  const own = plan['Relation Name'] === undefined ? 0 : rows * plan['Actual Loops']
  return (plan.Plans ?? []).reduce((sum, child) => sum + touchedBy(child), own)
}
