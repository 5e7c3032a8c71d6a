import type { SqliteDatabase } from './driver.ts'

/** Does what removes something so that it cannot be read in the free pages of the file any more. */
export function securely<T>(db: SqliteDatabase, work: () => T): T {
  db.exec('PRAGMA secure_delete = ON')
  try {
    return work()
  } finally {
    db.exec('PRAGMA secure_delete = FAST')
  }
}
