import type { SqliteDatabase } from './driver.ts'

/** Does all of the work or nothing. Holds the lock of the only writer from its start, so what it reads stays true. */
export type Transaction = <T>(work: () => T) => T

export function createTransaction(db: SqliteDatabase): Transaction {
  const begin = db.prepare('BEGIN IMMEDIATE')
  const commit = db.prepare('COMMIT')

  return (work) => {
    begin.run()
    try {
      const result = work()
      commit.run()
      return result
    } catch (error) {
      rollBack(db)
      throw error
    }
  }
}

function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // After some errors, such as a full disk, SQLite has done it already.
  }
}
