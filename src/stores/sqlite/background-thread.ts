import type { SqliteValue } from './connection.ts'

export interface BackgroundQuery {
  readonly sql: string
  readonly values?: readonly SqliteValue[]
}

export interface ThreadInput {
  readonly file: string
  readonly queries: readonly BackgroundQuery[]
  /** How long a statement waits for a lock of another connection, in milliseconds. */
  readonly lockTimeout: number
}

export interface ThreadResult {
  readonly rows?: readonly (readonly unknown[])[]
  readonly error?: { readonly message: string }
}

/**
 * The program of the thread. A thread starts from its text, because applications bundle the package, and then no file of
 * it can be found. So it uses nothing from outside of itself, and names no inner functions, which bundlers may wrap.
 */
export function runThread(): void {
  process.removeAllListeners('warning')
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads')
  const { file, queries, lockTimeout } = workerData as ThreadInput
  try {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
    const db = new DatabaseSync(file)
    try {
      db.exec(`PRAGMA busy_timeout = ${lockTimeout}`)
      const rows = queries.map(({ sql, values = [] }) => db.prepare(sql).all(...values))
      parentPort?.postMessage({ rows } satisfies ThreadResult)
    } finally {
      db.close()
    }
  } catch (thrown) {
    // The fields by which errors are explained.
    const { message, code, errcode } = thrown as Error & { readonly code?: string; readonly errcode?: number }
    parentPort?.postMessage({ error: { message, code, errcode } })
  }
}
