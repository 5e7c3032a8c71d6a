import { type BackgroundQuery, runThread, type ThreadInput, type ThreadResult } from './background-thread.ts'
import type { SqliteDatabase, SqliteDriver } from './connection.ts'

/** How long a statement waits for a lock of another connection, in milliseconds. */
const lockTimeout = 15_000

/** Runs statements on a connection of their own, one after the other, and returns the rows of each. */
export type RunInBackground = (
  file: string,
  queries: readonly BackgroundQuery[],
) => Promise<readonly (readonly unknown[])[]>

/** Runs statements that read a whole file. They run in a thread, so that they do not block the event loop. */
export const runInThread: RunInBackground = async (file, queries) => {
  const { Worker } = await import('node:worker_threads')
  const workerData: ThreadInput = { file, queries, lockTimeout }
  const worker = new Worker(`(${runThread})()`, { eval: true, workerData })
  const { rows, error } = await new Promise<ThreadResult>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the thread ended without a result')))
  })
  if (error) throw Object.assign(new Error(error.message), error)
  return rows ?? []
}

/** The same for another driver than `node:sqlite`, which a thread cannot receive. The event loop waits meanwhile. */
export function runWithDriver(driver: SqliteDriver): RunInBackground {
  return async (file, queries) => {
    const db = driver(file)
    try {
      db.exec(`PRAGMA busy_timeout = ${lockTimeout}`)
      return runOn(db, queries)
    } finally {
      db.close()
    }
  }
}

/** The same on an open connection, for a database that only this connection can see. */
export function runOn(db: SqliteDatabase, queries: readonly BackgroundQuery[]): readonly (readonly unknown[])[] {
  return queries.map(({ sql, values = [] }) => {
    // Some drivers refuse `all` for statements without rows.
    if (/^\s*(SELECT|PRAGMA|WITH)/.test(sql)) return db.prepare(sql).all(...values)
    db.prepare(sql).run(...values)
    return []
  })
}

/** Runs queries of an open database one after the other, so that they take one thread at most. */
export function createBackgroundQueries(
  db: SqliteDatabase,
  { file, runInBackground }: { readonly file: string; readonly runInBackground: RunInBackground },
): (query: BackgroundQuery) => Promise<readonly unknown[]> {
  let last: Promise<unknown> = Promise.resolve()
  return (query) => {
    // Only its own connection can see a database in memory.
    const run = async () => (file === ':memory:' ? runOn(db, [query]) : await runInBackground(file, [query]))[0] ?? []
    const running = last.then(run, run)
    last = running.catch(() => {})
    return running
  }
}
