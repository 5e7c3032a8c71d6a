import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { createWalSync } from './group-commit.ts'

test('what is committed is synced from outside, and SQLite no longer waits for it', async () => {
  const { db, file } = open()
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE numbers (number INTEGER)')
  const disk = createWalSync(db, file)
  expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 1 })
  db.exec('INSERT INTO numbers VALUES (1)')
  expect(await new Promise((resolve) => disk?.sync(resolve))).toBeNull()
  disk?.close()
})

test('without a write-ahead log SQLite goes on to wait at every commit', () => {
  const { db, file } = open()
  db.exec('PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; CREATE TABLE numbers (number INTEGER)')
  expect(createWalSync(db, file)).toBeUndefined()
  expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
})

test('a handle on the write-ahead log takes no lock from SQLite when it closes', () => {
  const { db, file } = open()
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE numbers (number INTEGER)')
  const disk = createWalSync(db, file)
  db.exec('BEGIN IMMEDIATE')
  disk?.close()
  const other = new DatabaseSync(file)
  expect(() => other.exec('BEGIN IMMEDIATE')).toThrow('locked')
  other.close()
  db.exec('COMMIT')
})

function open(): { readonly db: DatabaseSync; readonly file: string } {
  const directory = mkdtempSync(join(tmpdir(), 'parley-wal-'))
  const file = join(directory, 'numbers.db')
  const db = new DatabaseSync(file)
  onTestFinished(() => {
    db.close()
    rmSync(directory, { recursive: true })
  })
  return { db, file }
}
