import { expect, onTestFinished, test } from 'vitest'
import { createPostgresAdmin, createPostgresLog } from '../../src/entries/postgres.ts'
import { migrate, migrations } from '../../src/stores/postgres/schema.ts'
import { lease, message, newTask, status } from '../../src/testing/stores/task-log/fixtures.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openPool } from '../support/postgres/pools.ts'

startServerFirst()

test('the stats have sizes, tasks by state, times and the last removal of old tasks', async () => {
  const pool = await openPool()
  const log = await createPostgresLog({ pool, agent: 'Écho' })
  onTestFinished(() => log.close())
  await log.reserveFor?.('Écho')
  await log.create(newTask(), [message(), status('working', 3_000)], { lease })
  await log.create(newTask(), [status('completed', 2_000)], { lease })
  await log.create(newTask(), [status('completed', 1_000)], { lease })
  const before = await log.stats()
  expect(before).toMatchObject({
    agent: 'Écho',
    format: migrations.length,
    tasks: { working: 1, completed: 2 },
    events: 4,
    webhooks: 0,
    newest: 3_000,
    retention: { expired: 0, forgotten: 0 },
  })
  expect(before.retention.lastRun).toBeUndefined()
  expect(before.size.parts).toMatchObject({ tasks: expect.any(Number), events: expect.any(Number) })
  expect(before.size.total).toBe(Object.values(before.size.parts).reduce((sum, bytes) => sum + bytes))

  await log.expire(10_000, 1)
  await log.expire(10_000, 10, ['failed'])
  const admin = createPostgresAdmin({ pool })
  expect(await admin.stats()).toMatchObject({
    tasks: { working: 1, completed: 1, expired: 1 },
    events: 3,
    retention: { lastRun: expect.any(Number), expired: 1, forgotten: 0 },
  })
  await log.forget(10_000, 10)
  expect((await admin.stats()).retention).toMatchObject({ expired: 1, forgotten: 1 })
  await admin.close()
})

test('the integrity check finds missing events and rows without a task', async () => {
  const pool = await openPool()
  const log = await createPostgresLog({ pool })
  onTestFinished(() => log.close())
  const [gap, end, gone] = [newTask(), newTask(), newTask()]
  for (const task of [gap, end, gone, newTask()]) {
    await log.create(task, [message(), status('working')], { lease, claims: [{ key: task.taskId, digest: 'd' }] })
  }
  expect(await log.checkIntegrity()).toEqual({ isIntact: true, problems: [] })
  const remove = (taskId: string, generation: number) =>
    pool.query(
      `DELETE FROM parley.events USING parley.tasks WHERE task = key AND task_id = $1 AND events.generation = $2`,
      [taskId, generation],
    )
  await remove(gap.taskId, 1)
  await remove(end.taskId, 2)
  const { rows } = await pool.query('DELETE FROM parley.tasks WHERE task_id = $1 RETURNING key', [gone.taskId])
  const { isIntact, problems } = await log.checkIntegrity()
  expect(isIntact).toBe(false)
  expect([...problems].sort()).toEqual(
    [
      `Task ${gap.taskId} lacks some of its events.`,
      `Task ${end.taskId} lacks some of its events.`,
      `The table claims has rows of task number ${rows[0].key}, which does not exist.`,
      `The table events has rows of task number ${rows[0].key}, which does not exist.`,
    ].sort(),
  )
})

test('a migration plan lists what opening the log would change, and changes nothing', async () => {
  const pool = await openPool()
  const admin = createPostgresAdmin({ pool })
  onTestFinished(() => admin.close())
  expect((await admin.planMigration()).steps).toHaveLength(migrations.length)
  await expect(admin.stats()).rejects.toThrow(/schema parley.*holds no task log/)
  expect((await pool.query(`SELECT FROM pg_namespace WHERE nspname = 'parley'`)).rows).toEqual([])

  await migrate(pool, 'parley', migrations.slice(0, 1))
  const { format, newest, steps } = await admin.planMigration()
  expect({ format, newest }).toEqual({ format: 1, newest: migrations.length })
  expect(steps.map((step) => step.format)).toEqual(migrations.map((_, index) => index + 1).slice(1))
  expect(steps.map(({ sql }) => sql).join()).toContain('"parley".')
  expect(steps.some(({ breaksOlder }) => breaksOlder)).toBe(false)
  expect(await admin.stats()).toMatchObject({ format: 1, tasks: {}, retention: { expired: 0 } })
  expect((await pool.query('SELECT format FROM parley.format')).rows).toEqual([{ format: 1 }])

  await migrate(pool, 'parley')
  expect((await admin.planMigration()).steps).toEqual([])
  await migrate(pool, 'parley', [...migrations, { sql: 'SELECT 1', breaksOlder: true }])
  expect(await admin.planMigration()).toMatchObject({ steps: [], problem: expect.stringMatching(/update parley-a2a/) })
  await expect(admin.checkIntegrity()).rejects.toThrow(/update parley-a2a/)
})
