import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { SqliteDatabase } from './connection.ts'
import { createGroupCommit } from './group-commit.ts'

test('writes of one turn become one transaction, in their order', async () => {
  const { db, commits } = counting(open())
  const { write: commit } = createGroupCommit(db)
  const insert = db.prepare('INSERT INTO numbers VALUES (?)')
  const answers = await Promise.all([1, 2, 3, 4, 5].map((number) => commit(() => insert.run(number).lastInsertRowid)))
  expect(answers).toEqual([1, 2, 3, 4, 5])
  expect(commits()).toBe(1)
  await commit(() => insert.run(6))
  expect(commits()).toBe(2)
})

test('a write is answered when others can see it, and not before', async () => {
  const file = newFile()
  const [db, other] = [open(file), open(file)]
  const { write: commit } = createGroupCommit(db)
  const count = other.prepare('SELECT count(*) AS count FROM numbers')
  const writing = commit(() => db.exec('INSERT INTO numbers VALUES (1)'))
  expect(count.get()).toEqual({ count: 0 })
  await writing
  expect(count.get()).toEqual({ count: 1 })
})

test('a group that fails is refused as a whole, leaves nothing, and the next one works', async () => {
  const db = open()
  const { write: commit } = createGroupCommit(db)
  const insert = db.prepare('INSERT INTO numbers VALUES (?)')
  const outcomes = await Promise.allSettled([
    commit(() => insert.run(1)),
    commit(() => db.exec('INSERT INTO nowhere VALUES (1)')),
    commit(() => insert.run(2)),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(numbers(db)).toEqual([])
  await commit(() => insert.run(3))
  expect(numbers(db)).toEqual([3])
})

test('a long queue is written in several transactions, so that others get their turn', async () => {
  const { db, commits } = counting(open())
  const { write: commit } = createGroupCommit(db)
  const busy = () => {
    const end = performance.now() + 4
    while (performance.now() < end);
  }
  let turns = 0
  const watch = setInterval(() => turns++, 1)
  await Promise.all(Array.from({ length: 50 }, () => commit(busy)))
  clearInterval(watch)
  expect(commits()).toBeGreaterThan(5)
  expect(turns).toBeGreaterThan(5)
})

test('while another process holds the lock writes wait, and the event loop does not', async () => {
  const file = newFile()
  const [db, other] = [open(file), open(file)]
  db.exec('PRAGMA busy_timeout = 10')
  const { write: commit } = createGroupCommit(db)
  other.exec('BEGIN IMMEDIATE')
  let isWritten = false
  const writing = commit(() => db.exec('INSERT INTO numbers VALUES (1)')).then(() => {
    isWritten = true
  })
  let turns = 0
  const watch = setInterval(() => turns++, 1)
  await sleep(300)
  clearInterval(watch)
  expect(isWritten).toBe(false)
  expect(turns).toBeGreaterThan(3)
  other.exec('COMMIT')
  await writing
  expect(numbers(db)).toEqual([1])
})

test('a write is answered when the disk has it, and what comes meanwhile shares the next trip', async () => {
  const { db, commits } = counting(open())
  const disk = slowDisk()
  const { write, onDisk } = createGroupCommit(db, disk)
  const insert = db.prepare('INSERT INTO numbers VALUES (?)')
  const first = write(() => insert.run(1))
  await disk.asked(1)
  const later = Promise.all([2, 3, 4].map((number) => write(() => insert.run(number))))
  expect(await Promise.race([first, sleep(20, 'not yet')])).toBe('not yet')
  expect(onDisk()).toBeDefined()
  disk.answer(null)
  await first
  await disk.asked(2)
  disk.answer(null)
  await later
  expect(onDisk()).toBeUndefined()
  expect(commits()).toBe(2)
})

test('who reads what is not on disk yet can wait until it is', async () => {
  const db = open()
  const disk = slowDisk()
  const { write, onDisk } = createGroupCommit(db, disk)
  const writing = write(() => db.exec('INSERT INTO numbers VALUES (1)'))
  await disk.asked(1)
  expect(numbers(db)).toEqual([1])
  let isSafe = false
  const safe = onDisk()?.then(() => {
    isSafe = true
  })
  await sleep(10)
  expect(isSafe).toBe(false)
  disk.answer(null)
  await Promise.all([safe, writing])
  expect(isSafe).toBe(true)
})

test('after a disk has failed to keep something, nothing more is taken', async () => {
  const db = open()
  const disk = slowDisk()
  const { write } = createGroupCommit(db, disk)
  const first = write(() => db.exec('INSERT INTO numbers VALUES (1)'))
  await disk.asked(1)
  const second = write(() => db.exec('INSERT INTO numbers VALUES (2)'))
  disk.answer(new Error('EIO'))
  await expect(first).rejects.toThrow('EIO')
  await expect(second).rejects.toThrow('EIO')
  await expect(write(() => 3)).rejects.toThrow('EIO')
})

/** A disk that answers when it is told to. */
function slowDisk() {
  const waiting: ((error: Error | null) => void)[] = []
  let count = 0
  return {
    sync(done: (error: Error | null) => void) {
      count++
      waiting.push(done)
    },
    answer: (error: Error | null) => waiting.shift()?.(error),
    asked: (times: number) => vi.waitFor(() => expect(count).toBe(times)),
  }
}

function newFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-group-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return join(directory, 'numbers.db')
}

function open(file = newFile()): DatabaseSync {
  const db = new DatabaseSync(file)
  onTestFinished(() => db.close())
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS numbers (number INTEGER NOT NULL) STRICT')
  return db
}

function numbers(db: DatabaseSync): readonly unknown[] {
  return db
    .prepare('SELECT number FROM numbers')
    .all()
    .map(({ number }) => number)
}

/** The same database, counting its commits. */
function counting(db: DatabaseSync): { readonly db: SqliteDatabase; readonly commits: () => number } {
  let count = 0
  const counted: SqliteDatabase = {
    exec: (sql) => db.exec(sql),
    close: () => db.close(),
    prepare(sql) {
      const statement = db.prepare(sql)
      if (sql !== 'COMMIT') return statement
      return {
        get: () => statement.get(),
        all: () => statement.all(),
        iterate: () => statement.iterate(),
        run() {
          count++
          return statement.run()
        },
      }
    },
  }
  return { db: counted, commits: () => count }
}
