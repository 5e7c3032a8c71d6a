import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import { createSqliteLog, type SqliteLog, type SqliteLogOptions } from '../../../../src/stores/sqlite/sqlite-log.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

/** A text that needs new pages of the file, so that it cannot be stored on a full disk. */
export const longText = 'x'.repeat(100_000)

/** A SQLite log on a disk that the test fills. SQLite itself reports `SQLITE_FULL`. */
export interface FillableLog {
  readonly log: SqliteLog
  readonly file: string
  /** Refuses texts such as `longText`. Short ones may still fit into the file. */
  fill(): void
  /** Refuses every write. */
  lock(): void
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
  const set = (pragma: string) => {
    for (const db of databases) db.exec(`PRAGMA ${pragma}`)
  }
  return {
    log,
    file,
    // The limit cannot be less than what is there.
    fill: () => set('max_page_count = 1'),
    lock: () => set('query_only = ON'),
    free() {
      set('max_page_count = 1000000')
      set('query_only = OFF')
    },
  }
}
