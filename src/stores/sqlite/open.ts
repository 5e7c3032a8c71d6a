import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { SqliteDatabase, SqliteDriver } from './driver.ts'
import { migrate } from './migrations.ts'

/** Opens a task log's file, in which what is committed survives a crash of the process and of the machine. */
export function openDatabase(file: string, driver: SqliteDriver): SqliteDatabase {
  mkdirSync(dirname(file), { recursive: true })
  const db = driver(file)
  try {
    db.exec('PRAGMA busy_timeout = 5000')
    db.exec('PRAGMA journal_mode = WAL')
    db.exec('PRAGMA synchronous = FULL')
    migrate(db)
    // From here on locks are waited for without holding up the event loop: see group-commit.ts.
    db.exec('PRAGMA busy_timeout = 10')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
