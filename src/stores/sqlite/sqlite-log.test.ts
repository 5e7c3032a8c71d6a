import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../core/base/clock.ts'
import type { TaskEvent } from '../../core/protocol/events.ts'
import type { TaskLog } from '../../core/tasks/log.ts'
import type { SqliteDriver } from './connection.ts'
import { migrations } from './migrations.ts'
import { createSqliteRegistryStore } from './registry-store.ts'
import { createSqliteLog, type SqliteLogOptions } from './sqlite-log.ts'

const task = { taskId: 't', contextId: 'c', owner: 'alice' }
const lease = { holder: 'test', ttl: 60_000 }

test('the log uses a write-ahead log, syncs off the event loop, and leaves one file when it is closed', async () => {
  let db: DatabaseSync | undefined
  const file = newFile()
  const log = createSqliteLog({
    file,
    driver(path) {
      db = new DatabaseSync(path)
      return db
    },
  })
  expect(db?.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  expect(db?.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 1 })
  await log.create(task, [chunk('x')], { lease })
  await log.close()
  expect(existsSync(file)).toBe(true)
  expect(existsSync(`${file}-wal`)).toBe(false)
})

test('no statement numbers its placeholders, which Node before 22.20 and 24.6 binds wrongly', async () => {
  const statements: string[] = []
  const driver: SqliteDriver = (path) => {
    const db = new DatabaseSync(path)
    return {
      exec: (sql) => db.exec(sql),
      close: () => db.close(),
      prepare(sql) {
        statements.push(sql)
        return db.prepare(sql)
      },
    }
  }
  const log = open({ file: newFile(), driver })
  await log.list({ owner: 'alice', also: { owners: ['bob'], tenants: ['acme'] }, contextId: 'c', limit: 1 })
  await log.head('t', { owner: 'alice', also: 'everyone' })
  createSqliteRegistryStore({ file: newFile(), driver })
  expect(statements.length).toBeGreaterThan(50)
  expect(statements.filter((sql) => /\?\d/.test(sql))).toEqual([])
})

test('an upgrade counts the tasks that exist, and erasing leaves nothing of an owner', async () => {
  const file = newFile()
  const format = migrations.findIndex((sql) => sql.includes('task_counts'))
  mkdirSync(dirname(file), { recursive: true })
  const db = new DatabaseSync(file)
  for (const sql of migrations.slice(0, format)) db.exec(sql)
  db.exec(`PRAGMA user_version = ${format}`)
  const insert = db.prepare(`
    INSERT INTO tasks (task_id, context_id, owner, generation, phase, status_row, status_answered, created, changed, ended, fence)
    VALUES (?, 'c', 'alice', 1, ?, ?, 0, 0, 0, 0, 1)`)
  insert.run('1', 'working', 1)
  insert.run('2', 'completed', 1)
  insert.run('3', 'received', null)
  const log = open({ file })
  expect((await log.list({ owner: 'alice', limit: 1 })).total).toBe(2)
  expect((await log.list({ owner: 'alice', phase: 'working', limit: 1 })).total).toBe(1)
  await log.erase({ owner: 'alice' }, 10)
  expect(db.prepare('SELECT * FROM task_counts').all()).toEqual([])
  db.close()
})

describe('a clock that is set back', () => {
  const hour = 60 * 60 * 1000
  const held = { holder: 'dead', ttl: 1_000 }

  function createSettableClock(start: number) {
    let time = start
    return {
      clock: { ...systemClock, now: () => time, monotonic: undefined },
      pass(milliseconds: number) {
        time += milliseconds
      },
    }
  }

  test('a clock that is set back hides no orphan from a process that runs meanwhile', async () => {
    const { clock, pass } = createSettableClock(Date.now())
    const log = open({ file: newFile(), clock })
    await log.create(task, [chunk('x')], { lease: held })
    for (const milliseconds of [-hour, 500, -hour, 499]) {
      pass(milliseconds)
      expect(await log.orphans(10, held.ttl)).toEqual([])
    }
    pass(1)
    expect(await log.orphans(10, held.ttl)).toMatchObject([{ taskId: 't' }])
  })

  test('a clock that is set back hides no orphan from a process that starts later', async () => {
    const file = newFile()
    const { clock, pass } = createSettableClock(Date.now())
    await open({ file, clock }).create(task, [chunk('x')], { lease: held })
    pass(-hour)
    const log = open({ file, clock })
    expect(await log.orphans(10, held.ttl)).toEqual([])
    pass(-hour)
    expect(await log.orphans(10, held.ttl)).toEqual([])
    pass(3 * held.ttl)
    expect(await log.orphans(10, held.ttl)).toMatchObject([{ taskId: 't' }])
    expect(await log.acquire('t', lease)).toEqual({ fence: 2 })
  })

  test('the lease of a process that works ends with the machine, not with the time of day', async () => {
    const file = newFile()
    const beforeRestart = { ...systemClock, monotonic: () => hour }
    await open({ file, clock: beforeRestart }).create(task, [chunk('x')], { lease: held })
    let uptime = 10
    const log = open({ file, clock: { ...systemClock, monotonic: () => uptime } })
    expect(await log.orphans(10, held.ttl)).toEqual([])
    uptime += 3 * held.ttl
    expect(await log.orphans(10, held.ttl)).toMatchObject([{ taskId: 't' }])
  })

  test('leases of an older format end when the file is opened', async () => {
    const file = newFile()
    const format = migrations.findIndex((sql) => sql.includes('wake_at'))
    const db = new DatabaseSync(file)
    for (const sql of migrations.slice(0, format)) db.exec(sql)
    const values = `'c', 'alice', 1, 'received', 0, 0, 0, 0, 1`
    const columns = 'context_id, owner, generation, phase, status_answered, created, changed, ended, fence'
    const insert = `INSERT INTO tasks (task_id, lease_until, lease_holder, ${columns})`
    db.exec(`${insert} VALUES ('held', ${Date.now() + hour}, 'dead', ${values})`)
    db.exec(
      `${insert} VALUES ('paused', ${Date.now() - 1}, NULL, ${values}), ('later', ${Date.now() + hour}, NULL, ${values})`,
    )
    db.exec(`PRAGMA user_version = ${format}`)
    db.close()
    const log = open({ file })
    expect((await log.orphans(10)).map(({ taskId }) => taskId)).toEqual(['held', 'paused'])
  })
})

describe.skipIf(process.platform === 'win32')('permissions', () => {
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

  test.each(['000', '022', '777'])(
    'only the owner can access files that are created with the umask %s',
    async (umask) => {
      const file = join(dirname(newFile()), 'new', 'tasks.db')
      const previous = process.umask(Number.parseInt(umask, 8))
      onTestFinished(() => void process.umask(previous))
      const log = open({ file })
      await log.create(task, [chunk('x')], { lease })
      expect(modeOf(dirname(file))).toBe('700')
      for (const path of [file, `${file}-wal`, `${file}-shm`]) expect(modeOf(path)).toBe('600')
    },
  )

  test('an existing file becomes private, and its directory keeps its permissions', async () => {
    const file = newFile()
    await createSqliteLog({ file }).close()
    chmodSync(file, 0o664)
    chmodSync(dirname(file), 0o755)
    const log = open({ file })
    await log.create(task, [chunk('x')], { lease })
    expect(modeOf(dirname(file))).toBe('755')
    for (const path of [file, `${file}-wal`, `${file}-shm`]) expect(modeOf(path)).toBe('600')
  })
})

test('an event that cannot be encoded does not fail other writes', async () => {
  const log = open({ file: newFile() })
  const circular = { type: 'artifact', artifact: { artifactId: 'a', parts: [{ data: {} }] } }
  Object.assign(circular.artifact, { circular })
  const outcomes = await Promise.allSettled([
    log.create(task, [chunk('x')], { lease }),
    log.append('t', 1, [circular as unknown as TaskEvent], { fence: 1 }),
    log.append('t', 1, [chunk('y')], { fence: 1 }),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await log.head('t')).toMatchObject({ generation: 2 })
})

test('a file of a newer format is refused and left unchanged', async () => {
  const file = newFile()
  await createSqliteLog({ file }).close()
  const db = new DatabaseSync(file)
  db.exec('PRAGMA user_version = 99')
  db.close()
  expect(() => createSqliteLog({ file })).toThrow(/format 99 of a newer parley-a2a.*update parley-a2a/)
  const again = new DatabaseSync(file)
  expect(again.prepare('PRAGMA user_version').get()).toEqual({ user_version: 99 })
  again.close()
})

test('a file that is not a database is refused and left unchanged', () => {
  const file = newFile()
  writeFileSync(file, 'Dear diary, today I learned about SQLite.'.repeat(100))
  expect(() => createSqliteLog({ file })).toThrow(/is not a SQLite database/)
  expect(readFileSync(file, 'utf8')).toMatch(/^Dear diary/)
})

test('a directory instead of a file is refused', () => {
  const file = newFile()
  mkdirSync(file)
  expect(() => createSqliteLog({ file })).toThrow(/cannot be opened/)
})

test('a damaged file is reported as damaged', async () => {
  const file = newFile()
  const log = createSqliteLog({ file })
  await log.create(task, [chunk('x')], { lease })
  await log.append(
    't',
    1,
    Array.from({ length: 199 }, () => chunk('y'.repeat(500))),
    { fence: 1 },
  )
  await log.close()
  const bytes = readFileSync(file)
  for (const { rootpage } of rootPages(file)) bytes.fill(0x5a, (rootpage - 1) * 4096, rootpage * 4096)
  writeFileSync(file, bytes)
  const damaged = open({ file })
  await expect(damaged.read('t', 0)).rejects.toMatchObject(unavailable(/is damaged.*backup/))
  await expect(damaged.append('t', 200, [chunk('z')], { fence: 1 })).rejects.toMatchObject(unavailable(/is damaged/))
})

test('on a full disk writes fail without waking readers, and reads and later writes work', async () => {
  let db: DatabaseSync | undefined
  const log = open({
    file: newFile(),
    driver(path) {
      db = new DatabaseSync(path)
      return db
    },
  })
  await log.create(task, [chunk('x')], { lease })
  const limit = (pages: number) => db?.exec(`PRAGMA max_page_count = ${pages}`)
  limit(1) // it cannot be less than what is there
  const leaving = new AbortController()
  let woken = false
  const waiting = log.wait('t', 1, leaving.signal).then(() => {
    woken = true
  })
  const large = [chunk('y'.repeat(100_000))]
  const outcomes = await Promise.allSettled([
    log.append('t', 1, large, { fence: 1 }),
    log.create({ ...task, taskId: 'other' }, large, { lease }),
  ])
  for (const outcome of outcomes) expect(outcome).toMatchObject({ reason: unavailable(/disk is full/) })
  expect(woken).toBe(false)
  expect(await log.read('t', 0)).toHaveLength(1)
  expect(await log.head('other')).toBeUndefined()
  limit(1_000_000)
  expect(await log.append('t', 1, large, { fence: 1 })).toMatchObject({ type: 'stored', generation: 2 })
  await waiting
})

test('a log whose disk is full is closed, and the next start has everything that was stored', async () => {
  const file = newFile()
  let isFull = false
  const log = open({
    file,
    driver(path) {
      const db = new DatabaseSync(path)
      const exec = (sql: string) => {
        if (isFull && sql.includes('wal_checkpoint')) throw Object.assign(new Error('disk is full'), { errcode: 13 })
        db.exec(sql)
      }
      return { exec, prepare: (sql) => db.prepare(sql), close: () => db.close() }
    },
  })
  await log.create(task, [chunk('x')], { lease })
  isFull = true
  await log.close()
  expect(await open({ file }).read('t', 0)).toHaveLength(1)
})

test('a read-only file can be read, and writing to it fails with an explanation', async () => {
  const file = newFile()
  const first = open({ file })
  await first.create(task, [chunk('x')], { lease })
  const log = open({ file, driver: (path) => new DatabaseSync(path, { readOnly: true }) })
  expect(await log.read('t', 0)).toHaveLength(1)
  await expect(log.append('t', 1, [chunk('y')], { fence: 1 })).rejects.toMatchObject(unavailable(/cannot be written/))
})

/** What callers and operators learn about a file that cannot be used. */
function unavailable(explanation: RegExp) {
  return { code: 'unavailable', retryAfter: 5, cause: { message: expect.stringMatching(explanation) } }
}

function newFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-sqlite-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return join(directory, 'tasks.db')
}

function open(options: SqliteLogOptions): TaskLog {
  const log = createSqliteLog(options)
  onTestFinished(() => log.close().catch(() => {}))
  return log
}

function chunk(text: string): TaskEvent {
  return { type: 'artifact', artifact: { artifactId: 'a', parts: [{ text }] }, append: true }
}

/** The root pages of the events table and its indexes. */
function rootPages(file: string): readonly { readonly rootpage: number }[] {
  const db = new DatabaseSync(file)
  const rows = db.prepare("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'events'").all()
  db.close()
  return rows as unknown as readonly { readonly rootpage: number }[]
}
