import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { TaskEvent } from '../../core/protocol/events.ts'
import { createSqliteAdmin } from './admin.ts'
import type { SqliteDriver } from './connection.ts'
import { migrations } from './migrations.ts'
import { restoreSqliteLog } from './restore.ts'
import { createSqliteLog, type SqliteLogOptions } from './sqlite-log.ts'

const lease = { holder: 'test', ttl: 60_000 }
const working: TaskEvent = { type: 'status', status: { state: 'working', timestamp: '2026-01-02T03:04:05Z' } }
const completed: TaskEvent = { type: 'status', status: { state: 'completed', timestamp: '2026-01-02T03:04:06Z' } }
const otherDriver: SqliteDriver = (file) => new DatabaseSync(file)

const taskOf = (taskId: string) => ({ taskId, contextId: 'c', owner: 'alice' })

describe.each([
  ['the driver of Node', {}],
  ['another driver', { driver: otherDriver }],
])('a backup with %s', (_, driver) => {
  test('it has every task that was stored before it, none stored later, and no lease', async () => {
    const log = open(driver)
    await log.create(taskOf('before'), [working], { lease })
    const backup = join(newDirectory(), 'made', 'backup.db')
    await log.backup(backup)
    await log.create(taskOf('after'), [working], { lease })

    const copy = open({ file: backup, ...driver })
    expect(await copy.read('before', 0)).toMatchObject([{ event: working }])
    expect(await copy.head('after')).toBeUndefined()
    expect(await copy.acquire('before', lease)).toEqual({ fence: 2 })
    expect(await log.acquire('before', lease)).toBeUndefined()
  })

  test('writes continue while the backup is made, and the copy is consistent', async () => {
    const log = open(driver)
    for (let n = 0; n < 50; n++) await log.create(taskOf(`${n}`), [working], { lease })
    let isDone = false
    const backup = join(newDirectory(), 'backup.db')
    const made = log.backup(backup).finally(() => {
      isDone = true
    })
    for (let n = 0; !isDone; n++) await log.append(`${n % 50}`, Math.floor(n / 50) + 1, [working], { fence: 1 })
    await made
    expect(await createSqliteAdmin({ file: backup, ...driver }).checkIntegrity()).toEqual({
      isIntact: true,
      problems: [],
    })
  })

  test('it replaces no file, and a failed one leaves nothing behind', async () => {
    const log = open(driver)
    const directory = newDirectory()
    const taken = join(directory, 'taken.db')
    writeFileSync(taken, 'keep me')
    await expect(log.backup(taken)).rejects.toThrow(/exists already. Choose another name/)
    expect(readFileSync(taken, 'utf8')).toBe('keep me')
    await expect(log.backup(join(taken, 'below.db'))).rejects.toThrow()
    await log.backup(join(directory, 'good.db'))
    expect(readdirSync(directory).sort()).toEqual(['good.db', 'taken.db'])
  })
})

test.skipIf(process.platform === 'win32')('only the owner can read a backup and a restored log', async () => {
  const log = open()
  const [backup, file] = [join(newDirectory(), 'backup.db'), newFile()]
  await log.backup(backup)
  await restoreSqliteLog({ backup, file })
  for (const path of [backup, file]) expect((statSync(path).mode & 0o777).toString(8)).toBe('600')
})

test('a database in memory can be backed up', async () => {
  const log = open({ file: ':memory:' })
  await log.create(taskOf('t'), [working], { lease })
  const backup = join(newDirectory(), 'backup.db')
  await log.backup(backup)
  expect(await open({ file: backup }).head('t')).toMatchObject({ generation: 1 })
  expect((await log.stats()).tasks).toEqual({ working: 1 })
})

describe('a restored log', () => {
  test('a restored log replaces a log only if that is asked for and no process uses it', async () => {
    const file = newFile()
    const log = createSqliteLog({ file })
    await log.create(taskOf('kept'), [working], { lease })
    const backup = join(newDirectory(), 'backup.db')
    await log.backup(backup)
    await log.create(taskOf('lost'), [working], { lease })

    await expect(restoreSqliteLog({ backup, file })).rejects.toThrow(/exists.*overwrite: true/)
    await expect(restoreSqliteLog({ backup, file, overwrite: true })).rejects.toThrow(/in use. Stop its agents/)
    expect(await log.head('lost')).toMatchObject({ generation: 1 })
    await log.close()

    await restoreSqliteLog({ backup, file, overwrite: true })
    const restored = open({ file })
    expect(await restored.head('kept')).toMatchObject({ generation: 1 })
    expect(await restored.head('lost')).toBeUndefined()
    expect(existsSync(backup)).toBe(true)
  })

  test('a damaged log is replaced', async () => {
    const log = open()
    const [backup, file] = [join(newDirectory(), 'backup.db'), newFile()]
    await log.create(taskOf('t'), [working], { lease })
    await log.backup(backup)
    writeFileSync(file, 'no database at all'.repeat(1_000))
    await restoreSqliteLog({ backup, file, overwrite: true })
    expect(await open({ file }).head('t')).toMatchObject({ generation: 1 })
  })

  test('a damaged backup, the file of a log in use, a missing file and the log itself are refused', async () => {
    const log = open()
    const file = newFile()
    await log.create(taskOf('t'), [working], { lease })
    const damaged = join(newDirectory(), 'backup.db')
    await log.backup(damaged)
    withDatabase(damaged, (db) => db.exec('DELETE FROM events'))
    await expect(restoreSqliteLog({ backup: damaged, file })).rejects.toThrow(/damaged.*Task t lacks/)
    const live = newFile()
    open({ file: live })
    await expect(restoreSqliteLog({ backup: live, file })).rejects.toThrow(/not a backup/)
    await expect(restoreSqliteLog({ backup: join(newDirectory(), 'x.db'), file })).rejects.toThrow(
      /There is no task log/,
    )
    await expect(restoreSqliteLog({ backup: damaged, file: damaged, overwrite: true })).rejects.toThrow(/from itself/)
    expect(existsSync(file)).toBe(false)
  })
})

describe('the integrity check', () => {
  test('the integrity check finds missing events, wrong references and damaged pages', async () => {
    const file = newFile()
    const log = createSqliteLog({ file })
    for (const id of ['gap', 'end', 'status', 'gone', 'fine']) {
      await log.create(taskOf(id), [working], { lease, claims: [{ key: id, digest: 'd' }] })
      for (let n = 1; n < 4; n++) await log.append(id, n, [working], { fence: 1 })
    }
    expect(await log.checkIntegrity()).toEqual({ isIntact: true, problems: [] })
    await log.close()
    const key = (id: string) => `(SELECT key FROM tasks WHERE task_id = '${id}')`
    withDatabase(file, (db) => {
      db.exec(`DELETE FROM events WHERE task = ${key('gap')} AND generation = 2`)
      db.exec(`DELETE FROM events WHERE task = ${key('end')} AND generation = 4`)
      db.exec(`UPDATE tasks SET status_row = 999 WHERE task_id = 'status'`)
      db.exec(`DELETE FROM tasks WHERE task_id = 'gone'`)
    })
    const { isIntact, problems } = await createSqliteAdmin({ file }).checkIntegrity()
    expect(isIntact).toBe(false)
    expect([...problems].sort()).toEqual([
      'Task end lacks some of its events.',
      'Task end lacks the event with its status.',
      'Task gap lacks some of its events.',
      'Task status lacks the event with its status.',
      'The table claims has rows of task number 4, which does not exist.',
      'The table events has rows of task number 4, which does not exist.',
    ])

    const bytes = readFileSync(file)
    const { rootpage } = withDatabase(file, (db) =>
      db.prepare(`SELECT rootpage FROM sqlite_schema WHERE name = 'claims_of_task'`).get(),
    ) as { rootpage: number }
    bytes.fill(0x5a, (rootpage - 1) * 4096, rootpage * 4096)
    writeFileSync(file, bytes)
    const outcome = await createSqliteAdmin({ file })
      .checkIntegrity()
      .catch((error: Error) => ({ isIntact: false, problems: [error.message] }))
    expect(outcome.isIntact).toBe(false)
  })
})

test('the stats have sizes, tasks by state, times and the last removal of old tasks', async () => {
  const time = Date.parse('2026-01-02T03:04:07Z')
  const log = open({ agent: 'Echo' })
  await log.create(taskOf('w'), [working, working], { lease })
  await log.create(taskOf('c'), [working, completed], { lease })
  await log.create(taskOf('old'), [completed], { lease })
  const before = await log.stats()
  expect(before).toMatchObject({
    agent: 'Echo',
    format: migrations.length,
    tasks: { working: 1, completed: 2 },
    events: 5,
    webhooks: 0,
    newest: Date.parse('2026-01-02T03:04:06Z'),
    retention: { expired: 0, forgotten: 0 },
  })
  expect(before.retention.lastRun).toBeUndefined()
  expect(before.oldest).toBeGreaterThan(0)
  const { total, parts } = before.size
  expect(Object.keys(parts)).toEqual(['database', 'writeAheadLog'])
  expect(total).toBe(Object.values(parts).reduce((sum, bytes) => sum + bytes))
  expect(total).toBeGreaterThan(4_096)

  await log.expire(time, 1)
  const after = await log.stats()
  expect(after).toMatchObject({ tasks: { working: 1, completed: 1, expired: 1 }, retention: { expired: 1 } })
  expect(after.retention.lastRun).toBeGreaterThan(0)
  await log.forget(time, 10)
  expect(await log.stats()).toMatchObject({ retention: { expired: 1, forgotten: 1 } })
})

describe('a migration plan', () => {
  test.each([1, 6, migrations.length - 1])(
    'a migration plan lists the steps from format %i, and changes nothing',
    async (format) => {
      const file = newFile()
      withDatabase(file, (db) => {
        for (const sql of migrations.slice(0, format)) db.exec(sql)
        db.exec(`PRAGMA user_version = ${format}`)
      })
      const bytes = readFileSync(file)
      const admin = createSqliteAdmin({ file })
      const { steps, ...rest } = await admin.planMigration()
      expect(rest).toEqual({ format, newest: migrations.length })
      expect(steps.map((step) => step.format)).toEqual(migrations.map((_, index) => index + 1).slice(format))
      expect(steps.map(({ sql }) => sql)).toEqual(migrations.slice(format))
      expect((await admin.stats()).tasks).toEqual({})
      expect((await admin.checkIntegrity()).isIntact).toBe(true)
      await admin.backup(`${file}.backup`)
      expect(readFileSync(file).equals(bytes)).toBe(true)

      await createSqliteLog({ file: `${file}.backup` }).close()
      expect(await createSqliteAdmin({ file: `${file}.backup` }).planMigration()).toMatchObject({ steps: [] })
    },
  )

  test('a migration plan says why a newer format cannot be used', async () => {
    const file = newFile()
    await createSqliteLog({ file }).close()
    withDatabase(file, (db) => db.exec('PRAGMA user_version = 99'))
    const admin = createSqliteAdmin({ file })
    expect(await admin.planMigration()).toMatchObject({
      format: 99,
      steps: [],
      problem: expect.stringMatching(/update parley-a2a/),
    })
    await expect(admin.stats()).rejects.toThrow(/update parley-a2a/)
  })

  test('a file without a log and a missing file are refused, and none is created', async () => {
    const [empty, missing] = [newFile(), newFile()]
    withDatabase(empty, (db) => db.exec('CREATE TABLE other (id)'))
    expect(await createSqliteAdmin({ file: empty }).planMigration()).toMatchObject({ format: 0 })
    await expect(createSqliteAdmin({ file: empty }).stats()).rejects.toThrow(/holds no task log/)
    await expect(createSqliteAdmin({ file: missing }).stats()).rejects.toThrow(/There is no task log/)
    expect(existsSync(missing)).toBe(false)
  })
})

function open(options: Partial<SqliteLogOptions> = {}) {
  const log = createSqliteLog({ file: newFile(), ...options })
  onTestFinished(() => log.close())
  return log
}

function withDatabase<T>(file: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file)
  try {
    return work(db)
  } finally {
    db.close()
  }
}

function newFile(): string {
  return join(newDirectory(), 'tasks.db')
}

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-admin-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
