import { closeSync, fdatasync, openSync } from 'node:fs'
import type { SqliteDatabase } from './driver.ts'

/** Puts on disk what is committed, without holding up the event loop. */
export interface WalSync {
  sync(done: (error: Error | null) => void): void
  close(): void
}

/**
 * Lets SQLite commit without waiting for the disk, and waits for it here: what is committed lies in the write-ahead
 * log, and syncing that file is all that SQLite itself would do. Before it moves anything from there into the database
 * it still syncs by itself. Undefined where there is no such file, and SQLite goes on to wait at every commit.
 *
 * SQLite keeps its locks on two other files, so that a handle of ours on this one disturbs none of them.
 */
export function createWalSync(db: SqliteDatabase, file: string): WalSync | undefined {
  let handle: number
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get() // makes the file, if nobody has
    handle = openSync(`${file}-wal`, 'r+')
  } catch {
    return undefined
  }
  db.exec('PRAGMA synchronous = NORMAL')
  return {
    sync: (done) => fdatasync(handle, done),
    close: () => closeSync(handle),
  }
}
