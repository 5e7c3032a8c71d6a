import { describe, expect, it, onTestFinished } from 'vitest'
import { createMysqlAdmin, createMysqlLog } from '../../src/entries/mysql.ts'
import { migrations } from '../../src/stores/mysql/schema.ts'
import {
  createTask,
  lease,
  message,
  newTask,
  readGenerations,
  status,
  upTo,
} from '../../src/testing/stores/task-log/fixtures.ts'
import { createMariadbPool, hasMariadb, openMariadbPool } from '../support/mariadb/database.ts'

describe.runIf(hasMariadb)('task log in MySQL', () => {
  it('processes that start together create the tables once', async () => {
    const pool = await createMariadbPool()
    const logs = await Promise.all(upTo(8).map(() => createMysqlLog({ pool })))
    const taskId = await createTask(logs[0] ?? expect.fail())
    for (const log of logs) expect(await readGenerations(log, taskId)).toEqual([1])
    for (const log of logs) await log.close()
    const [rows] = await pool.query('SELECT format, oldest FROM parley_format')
    expect(rows).toEqual([{ format: migrations.length, oldest: 1 }])
  })

  it('every text is compared byte by byte', async () => {
    const pool = await createMariadbPool()
    await (await createMysqlLog({ pool })).close()
    const [columns] = await pool.query(
      `SELECT table_name, column_name, collation_name FROM information_schema.columns
       WHERE table_schema = DATABASE() AND collation_name <> 'utf8mb4_bin'`,
    )
    expect(columns).toEqual([])
  })

  it('ids that differ in case, accents or a space at the end are different', async () => {
    const log = await createMysqlLog({ pool: await openMariadbPool() })
    onTestFinished(() => log.close())
    const ids = ['a', 'A', 'á', 'a ', 'a  ', ' a']
    for (const taskId of ids) await log.create({ ...newTask(), taskId }, [message()], { lease })
    for (const taskId of ids) expect((await log.head(taskId))?.taskId).toBe(taskId)
  })

  it('max_allowed_packet of the server is checked at start', async () => {
    const administrator = await createMariadbPool()
    await administrator.query('SET GLOBAL max_allowed_packet = 1048576')
    onTestFinished(async () => {
      await administrator.query('SET GLOBAL max_allowed_packet = 16777216')
    })
    const pool = await createMariadbPool()
    await expect(createMysqlLog({ pool })).rejects.toThrow(
      'max_allowed_packet of the server is 1048576 bytes, which is too small for large events; set it to at least 4194304',
    )
  })

  it('the character set of the connections is checked at start', async () => {
    const pool = await createMariadbPool()
    await pool.query('SET NAMES latin1')
    await expect(createMysqlLog({ pool })).rejects.toThrow('set charset of the pool to utf8mb4')
  })

  it('operators see a plan, stats and damage, and change nothing', async () => {
    const pool = await createMariadbPool()
    const admin = createMysqlAdmin({ pool })
    onTestFinished(() => admin.close())
    expect((await admin.planMigration()).steps).toHaveLength(migrations.length)
    await expect(admin.stats()).rejects.toThrow(/tables parley_\* of MySQL.*holds no task log/)
    expect((await pool.query('SHOW TABLES'))[0]).toEqual([])
    const log = await createMysqlLog({ pool })
    onTestFinished(() => log.close())
    expect((await admin.planMigration()).steps).toEqual([])
    const task = newTask()
    await log.create(task, [message(), status('completed', 2_000)], { lease })
    expect(await admin.stats()).toMatchObject({ tasks: { completed: 1 }, events: 2, newest: 2_000 })
    expect(await admin.checkIntegrity()).toEqual({ isIntact: true, problems: [] })
    await pool.query('DELETE FROM parley_events WHERE generation = 1')
    expect((await log.checkIntegrity()).problems).toEqual([`Task ${task.taskId} lacks some of its events.`])
  })

  it('an id that is too long is refused, with what is allowed', async () => {
    const log = await createMysqlLog({ pool: await openMariadbPool() })
    onTestFinished(() => log.close())
    await expect(log.create({ ...newTask(), taskId: 'x'.repeat(256) }, [message()], { lease })).rejects.toThrow(
      'An id of 256 characters is too long for a MySQL store; it can have 255.',
    )
  })
})
