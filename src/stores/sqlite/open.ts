import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SqliteDatabase, SqliteDriver } from './driver.ts'
import { migrate } from './migrations.ts'
import { isBusy } from './trouble.ts'

/** Opens a task log's file, in which what is committed survives a crash of the process and of the machine. */
export function openDatabase(file: string, driver: SqliteDriver): SqliteDatabase {
  mkdirSync(dirname(file), { recursive: true })
  const db = driver(file)
  try {
    db.exec('PRAGMA busy_timeout = 5000')
    patiently(() => db.exec('PRAGMA journal_mode = WAL'))
    db.exec('PRAGMA synchronous = FULL')
    // Pages that change again and again are written back less often; the log beside the file may so grow to 16 MB.
    db.exec('PRAGMA wal_autocheckpoint = 4000')
    // What an update replaces is overwritten at once, where that costs no write: see securely.ts.
    db.exec('PRAGMA secure_delete = FAST')
    patiently(() => migrate(db))
    // From here on locks are waited for without holding up the event loop: see group-commit.ts.
    db.exec('PRAGMA busy_timeout = 10')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** How long processes that start together wait for each other, and between two tries, in milliseconds. */
const patience = 5_000
const pause = 10

/** SQLite does not wait for the lock it needs to change the journal, whatever its time-out. */
function patiently(work: () => void): void {
  const end = performance.now() + patience
  for (;;) {
    try {
      work()
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error
      // Nothing else is to be done before the log is open.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pause)
    }
  }
}
