import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import { createSqliteLog, type SqliteLog, type SqliteLogOptions } from '../../../src/stores/sqlite/sqlite-log.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

/** A text that needs new pages of the file, so that it cannot be stored on a full disk. */
export const longText = 'x'.repeat(100_000)

/** A SQLite log on a disk that the test fills. SQLite itself reports `SQLITE_FULL`. */
export interface FillableLog {
  readonly log: SqliteLog
  readonly file: string
  fill(): void
  free(): void
}

export async function openFillableLog(options: Partial<SqliteLogOptions> = {}): Promise<FillableLog> {
  const file = join(await temporaryDirectory(), 'tasks.db')
  const databases: DatabaseSync[] = []
  const log = createSqliteLog({
    file,
    driver(path) {
      const db = new DatabaseSync(path)
      databases.push(db)
      return db
    },
    ...options,
  })
  onTestFinished(() => log.close().catch(() => {}))
  const limit = (pages: number) => {
    for (const db of databases) db.exec(`PRAGMA max_page_count = ${pages}`)
  }
  // The limit cannot be less than what is there.
  return { log, file, fill: () => limit(1), free: () => limit(1_000_000) }
}
