import { expect, onTestFinished, test } from 'vitest'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { migrate, migrations } from '../../src/stores/postgres/schema.ts'
import {
  chunk,
  createTask,
  lease,
  message,
  newTask,
  readGenerations,
  status,
  upTo,
} from '../../src/testing/stores/task-log/fixtures.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openPool } from '../support/postgres/pools.ts'

startServerFirst()

const additive = {
  sql: `
    ALTER TABLE $.tasks ADD COLUMN colour text NOT NULL DEFAULT 'none';
    ALTER TABLE $.events ADD COLUMN weight int;
    CREATE TABLE $.extras (task bigint PRIMARY KEY);`,
}

test('processes that start together migrate once', async () => {
  const pool = await openPool({ max: 20 })
  const logs = await Promise.all(upTo(8).map(() => createPostgresLog({ pool })))
  const taskId = await createTask(logs[0] ?? expect.fail())
  for (const log of logs) expect(await readGenerations(log, taskId)).toEqual([1])
  for (const log of logs) await log.close()
  expect((await pool.query('SELECT format, oldest FROM parley.format')).rows).toEqual([
    { format: migrations.length, oldest: 1 },
  ])
})

test('an orphan is found although the clock of the database is set back twice', async () => {
  const pool = await openPool({ options: '-c search_path=test_time,pg_catalog' })
  await pool.query('CREATE SCHEMA test_time; CREATE TABLE test_time.clock AS SELECT pg_catalog.now() AS time')
  for (const name of ['clock_timestamp', 'statement_timestamp']) {
    await pool.query(`CREATE FUNCTION test_time.${name}() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS 'SELECT time FROM test_time.clock'`)
  }
  const pass = (milliseconds: number) =>
    pool.query(`UPDATE test_time.clock SET time = time + ${milliseconds} * interval '1 millisecond'`)
  const [first, second] = [await createPostgresLog({ pool }), await createPostgresLog({ pool })]
  onTestFinished(() => Promise.all([first.close(), second.close()]).then(() => {}))
  const [ttl, hour] = [1_000, 60 * 60 * 1000]
  const [orphan, held] = [newTask(), newTask()]
  for (const task of [orphan, held])
    await first.create(task, [message(), status('working')], { lease: { ...lease, ttl } })
  expect(await first.orphans(10, ttl)).toEqual([])
  for (const log of [first, second]) {
    await pass(-hour)
    expect(await log.orphans(10, ttl)).toEqual([])
  }
  for (let renewal = 0; renewal < 6; renewal++) {
    await pass(ttl / 2)
    await first.renew([{ taskId: held.taskId, fence: 1 }], ttl)
  }
  await pass(1)
  for (const log of [first, second]) expect(await log.orphans(10, ttl)).toMatchObject([{ taskId: orphan.taskId }])
})

test('an old version keeps working while new versions migrate the schema', async () => {
  const pool = await openPool()
  const old = await createPostgresLog({ pool })
  const task = newTask()
  await old.create(task, [message(), status('working')], { lease, claims: [{ key: 'k', digest: 'd' }] })
  const newer = [...migrations, additive]
  await Promise.all([migrate(pool, 'parley', newer), migrate(pool, 'parley', newer), migrate(pool, 'parley', newer)])

  expect(await old.append(task.taskId, 2, [chunk('a')], { fence: 1 })).toMatchObject({ type: 'stored' })
  expect(await old.head(task.taskId)).toMatchObject({ generation: 3 })
  expect(await old.renew([{ taskId: task.taskId, fence: 1 }], 1_000)).toEqual([])
  const taskId = await createTask(old)
  expect(await readGenerations(old, taskId)).toEqual([1])
  expect((await old.list({ owner: 'alice', limit: 10 })).total).toBe(1)
  await old.append(task.taskId, 3, [status('completed')], { fence: 1 })
  expect(await old.expire(2_000, 10)).toBe(1)
  await old.close()

  const restarted = await createPostgresLog({ pool })
  onTestFinished(() => restarted.close())
  expect(await readGenerations(restarted, taskId)).toEqual([1])
})

test.each(upTo(migrations.length - 1))(
  'a schema of format %i is upgraded without losing its contents',
  async (format) => {
    const pool = await openPool()
    await migrate(pool, 'parley', migrations.slice(0, format))
    await pool.query(`
    WITH task AS (
      INSERT INTO parley.tasks (task_id, context_id, owner, generation, phase, status_answered, created, changed, ended, fence)
      VALUES ('old', 'context', 'alice', 1, 'received', false, 0, 0, false, 1) RETURNING key
    )
    INSERT INTO parley.events (task, generation, event, token) SELECT key, 1, '${JSON.stringify(message())}', 0 FROM task`)
    const logs = await Promise.all(upTo(2).map(() => createPostgresLog({ pool })))
    for (const [index, log] of logs.entries()) {
      onTestFinished(() => log.close())
      expect(await log.append('old', index + 1, [chunk('new')], { fence: 1 })).toMatchObject({ type: 'stored' })
      expect(await readGenerations(log, 'old')).toEqual(upTo(index + 2))
    }
    expect((await pool.query('SELECT format FROM parley.format')).rows).toEqual([{ format: migrations.length }])
  },
)

test('an upgrade counts the tasks that exist, and replicas of the older version go on counting', async () => {
  const pool = await openPool()
  await migrate(
    pool,
    'parley',
    migrations.slice(
      0,
      migrations.findIndex(({ sql }) => sql.includes('task_counts')),
    ),
  )
  const insert = (id: string, phase: string) =>
    pool.query(`
    INSERT INTO parley.tasks (task_id, context_id, owner, generation, phase, status_generation, status_answered, created,
      changed, ended, fence)
    VALUES ('${id}', 'context', 'alice', 1, '${phase}', 1, false, 0, 0, false, 1)`)
  await insert('1', 'working')
  await insert('2', 'working')
  const log = await createPostgresLog({ pool })
  onTestFinished(() => log.close())
  const totals = async () => {
    const of = async (phase: 'working' | 'completed') => (await log.list({ owner: 'alice', phase, limit: 1 })).total
    return [await of('working'), await of('completed')]
  }
  expect(await totals()).toEqual([2, 0])
  await insert('3', 'working')
  await pool.query(`UPDATE parley.tasks SET phase = 'completed' WHERE task_id = '1'`)
  expect(await totals()).toEqual([2, 1])
  await pool.query(`UPDATE parley.tasks SET phase = 'expired', status_generation = NULL WHERE task_id = '1'`)
  await pool.query(`DELETE FROM parley.tasks WHERE task_id = '2'`)
  expect(await totals()).toEqual([1, 0])
  await log.erase({ owner: 'alice' }, 10)
  expect((await pool.query('SELECT FROM parley.task_counts')).rows).toEqual([])
})

test('many senders of one owner add few rows, and wait for no row of each other', async () => {
  const pool = await openPool({ max: 8 })
  const log = await createPostgresLog({ pool })
  onTestFinished(() => log.close())
  const blocker = await pool.connect()
  await blocker.query('BEGIN')
  await createTask(log, {}, status('completed'))
  // A transaction that holds all rows of the owner, like one that replaces them by their sums.
  await blocker.query(`SELECT FROM parley.task_counts WHERE owner = 'alice' FOR UPDATE`)
  for (const _ of upTo(100)) await createTask(log, {}, status('completed'))
  await blocker.query('ROLLBACK')
  blocker.release()
  for (const _ of upTo(300)) await createTask(log, {}, status('completed'))
  expect((await log.list({ owner: 'alice', limit: 1 })).total).toBe(401)
  const { rows } = await pool.query('SELECT FROM parley.task_counts')
  expect(rows.length).toBeLessThan(401)
})

test('a version that cannot work with a newer schema is rejected and changes nothing', async () => {
  const pool = await openPool()
  await migrate(pool, 'parley', [...migrations, { ...additive, breaksOlder: true }])
  await expect(createPostgresLog({ pool })).rejects.toThrow(
    new RegExp(`format ${migrations.length + 1} of a newer parley-a2a.*update parley-a2a`),
  )
  expect((await pool.query('SELECT format FROM parley.format')).rows).toEqual([{ format: migrations.length + 1 }])
})

test('a failed migration leaves nothing behind', async () => {
  const pool = await openPool()
  await migrate(pool, 'parley', migrations)
  await expect(migrate(pool, 'parley', [...migrations, { sql: `${additive.sql} SELECT 1 / 0` }])).rejects.toThrow(
    /zero/,
  )
  const columns = await pool.query(`SELECT FROM information_schema.columns WHERE column_name = 'colour'`)
  expect(columns.rows).toHaveLength(0)
})

test('logs in different schemas are independent', async () => {
  const pool = await openPool()
  const [one, two] = [
    await createPostgresLog({ pool, schema: 'one' }),
    await createPostgresLog({ pool, schema: 'two' }),
  ]
  const taskId = await createTask(one)
  expect(await two.head(taskId)).toBeUndefined()
  await Promise.all([one.close(), two.close()])
  await expect(createPostgresLog({ pool, schema: 'x"; DROP' })).rejects.toThrow(/must be a name/)
})

test('appends to several tasks are one statement', async () => {
  const pool = await openPool()
  const log = await createPostgresLog({ pool })
  onTestFinished(() => log.close())
  const taskIds = await Promise.all(upTo(20).map(() => createTask(log)))
  const statements: string[] = []
  const query = pool.query.bind(pool)
  const counted = Object.assign(pool, {
    query(statement: { readonly text: string }) {
      statements.push(statement.text)
      return query(statement)
    },
  })
  expect(counted).toBe(pool)
  await log.append(taskIds[0] ?? '', 1, [chunk('a'), chunk('b'), chunk('c')], { fence: 1 })
  expect(statements).toHaveLength(1)
  await Promise.all(taskIds.slice(1).map((taskId) => log.append(taskId, 1, [chunk('a'), chunk('b')], { fence: 1 })))
  expect(statements).toHaveLength(2)
})

test('events are stored with the fence of their lease', async () => {
  const pool = await openPool()
  const log = await createPostgresLog({ pool })
  onTestFinished(() => log.close())
  const taskId = await createTask(log)
  await log.append(taskId, 1, [message('from outside')], {})
  await log.release(taskId, 1, 2)
  await log.append(taskId, 2, [message('and takes the lease')], { lease })
  await log.append(taskId, 3, [status('working')], { fence: 2 })
  const { rows } = await pool.query('SELECT fence FROM parley.events ORDER BY generation')
  expect(rows.map(({ fence }) => fence)).toEqual([1, null, 2, 2])
})
