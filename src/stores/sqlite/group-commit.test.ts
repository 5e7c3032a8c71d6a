import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { SqliteDatabase } from './connection.ts'
import { createGroupCommit, createWalSync } from './group-commit.ts'

describe('createGroupCommit', () => {
  test('writes of one turn of the event loop become one transaction, in their order', async () => {
    const { db, commits } = counting(open())
    const { write: commit } = createGroupCommit(db)
    const insert = db.prepare('INSERT INTO numbers VALUES (?)')
    const answers = await Promise.all([1, 2, 3, 4, 5].map((number) => commit(() => insert.run(number).lastInsertRowid)))
    expect(answers).toEqual([1, 2, 3, 4, 5])
    expect(commits()).toBe(1)
    await commit(() => insert.run(6))
    expect(commits()).toBe(2)
  })

  test('a write resolves when other connections can see it, and not before', async () => {
    const file = newFile()
    const [db, other] = [open(file), open(file)]
    const { write: commit } = createGroupCommit(db)
    const count = other.prepare('SELECT count(*) AS count FROM numbers')
    const writing = commit(() => db.exec('INSERT INTO numbers VALUES (1)'))
    expect(count.get()).toEqual({ count: 0 })
    await writing
    expect(count.get()).toEqual({ count: 1 })
  })

  test('a failed group is rejected as a whole, leaves nothing, and the next one works', async () => {
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

  test('a long queue is written in several transactions, so that the event loop is not blocked', async () => {
    const { db, commits } = counting(open())
    const { write: commit } = createGroupCommit(db)
    const busy = () => {
      const end = performance.now() + 4
      while (performance.now() < end);
    }
    let turns = 0
    const counter = setInterval(() => turns++, 1)
    await Promise.all(Array.from({ length: 50 }, () => commit(busy)))
    clearInterval(counter)
    expect(commits()).toBeGreaterThan(5)
    expect(turns).toBeGreaterThan(5)
  })

  test('writes wait for a lock of another process without blocking the event loop', async () => {
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
    const counter = setInterval(() => turns++, 1)
    await sleep(300)
    clearInterval(counter)
    expect(isWritten).toBe(false)
    expect(turns).toBeGreaterThan(3)
    other.exec('COMMIT')
    await writing
    expect(numbers(db)).toEqual([1])
  })

  test('a write resolves when it is synced, and writes that arrive meanwhile share the next sync', async () => {
    const { db, commits } = counting(open())
    const disk = slowDisk()
    const { write, pendingSync } = createGroupCommit(db, { disk })
    const insert = db.prepare('INSERT INTO numbers VALUES (?)')
    const first = write(() => insert.run(1))
    await disk.synced(1)
    const later = Promise.all([2, 3, 4].map((number) => write(() => insert.run(number))))
    expect(await Promise.race([first, sleep(20, 'not yet')])).toBe('not yet')
    expect(pendingSync()).toBeDefined()
    disk.finish(null)
    await first
    await disk.synced(2)
    disk.finish(null)
    await later
    expect(pendingSync()).toBeUndefined()
    expect(commits()).toBe(2)
  })

  test('a reader can wait until the data it has read is on disk', async () => {
    const db = open()
    const disk = slowDisk()
    const { write, pendingSync } = createGroupCommit(db, { disk })
    const writing = write(() => db.exec('INSERT INTO numbers VALUES (1)'))
    await disk.synced(1)
    expect(numbers(db)).toEqual([1])
    let isSynced = false
    const synced = pendingSync()?.then(() => {
      isSynced = true
    })
    await sleep(10)
    expect(isSynced).toBe(false)
    disk.finish(null)
    await Promise.all([synced, writing])
    expect(isSynced).toBe(true)
  })

  test('after a failed sync all further writes fail', async () => {
    const db = open()
    const disk = slowDisk()
    const { write } = createGroupCommit(db, { disk })
    const first = write(() => db.exec('INSERT INTO numbers VALUES (1)'))
    await disk.synced(1)
    const second = write(() => db.exec('INSERT INTO numbers VALUES (2)'))
    disk.finish(new Error('EIO'))
    await expect(first).rejects.toThrow('EIO')
    await expect(second).rejects.toThrow('EIO')
    await expect(write(() => 3)).rejects.toThrow('EIO')
  })
})

describe('createWalSync', () => {
  test('the write-ahead log is synced from outside, and SQLite no longer waits for the disk', async () => {
    const { db, file } = openFile()
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE numbers (number INTEGER)')
    const disk = createWalSync(db, file)
    expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 1 })
    db.exec('INSERT INTO numbers VALUES (1)')
    expect(await new Promise((resolve) => disk?.sync(resolve))).toBeNull()
    disk?.close()
  })

  test('without a write-ahead log SQLite waits for the disk at every commit', () => {
    const { db, file } = openFile()
    db.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; CREATE TABLE numbers (number INTEGER)')
    expect(createWalSync(db, file)).toBeUndefined()
    expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
  })

  test('closing the handle on the write-ahead log releases no lock of SQLite', () => {
    const { db, file } = openFile()
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE numbers (number INTEGER)')
    const disk = createWalSync(db, file)
    db.exec('BEGIN IMMEDIATE')
    disk?.close()
    const other = new DatabaseSync(file)
    expect(() => other.exec('BEGIN IMMEDIATE')).toThrow('locked')
    other.close()
    db.exec('COMMIT')
  })

  function openFile(): { readonly db: DatabaseSync; readonly file: string } {
    const file = newFile()
    const db = new DatabaseSync(file)
    onTestFinished(() => db.close())
    return { db, file }
  }
})

/** A disk whose syncs finish when the test says so. */
function slowDisk() {
  const waiting: ((error: Error | null) => void)[] = []
  let count = 0
  return {
    sync(done: (error: Error | null) => void) {
      count++
      waiting.push(done)
    },
    finish: (error: Error | null) => waiting.shift()?.(error),
    synced: (times: number) => vi.waitFor(() => expect(count).toBe(times)),
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

/** Counts the commits of a database. */
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
