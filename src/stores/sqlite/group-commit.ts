import { closeSync, fdatasync, openSync } from 'node:fs'
import { isBusy, type SqliteDatabase } from './connection.ts'

/** Duration after which a transaction ends and the remaining writes wait for the next one, in milliseconds. */
const maxTransactionTime = 10

/** How long to wait for a lock of another process, in milliseconds. */
const lockTimeout = 5_000

/** Delay between two attempts to get the lock, in milliseconds. */
const lockRetryDelay = 5

/** Runs all of the work or nothing. It holds the write lock from the start, so what it reads does not change. */
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

/** Syncs committed transactions to disk without blocking the event loop. */
export interface WalSync {
  sync(done: (error: Error | null) => void): void
  close(): void
}

/**
 * Lets SQLite commit without waiting for the disk, and syncs here instead: committed transactions are in the write-ahead
 * log, and syncing that file is all that SQLite itself would do. Before a checkpoint SQLite still syncs by itself.
 * Undefined if there is no such file; SQLite then waits for the disk at every commit.
 *
 * SQLite holds its locks on two other files, so our handle on this one does not affect them.
 */
export function createWalSync(db: SqliteDatabase, file: string): WalSync | undefined {
  let handle: number
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get() // creates the file if missing
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

/**
 * Commits writes in groups, because syncing many takes as long as syncing one.
 *
 * Writes that are queued during a sync form the next transaction. A write that throws fails its whole group, so an
 * expected refusal must be a result.
 */
export interface GroupCommit {
  /** Queues a write and resolves with its result once it is on disk. */
  write<T>(write: () => T): Promise<T>
  /** Resolves when everything that can be read now is on disk; undefined if it already is. */
  pendingSync(): Promise<void> | undefined
}

export function createGroupCommit(db: SqliteDatabase, disk?: Pick<WalSync, 'sync'>): GroupCommit {
  const inTransaction = createTransaction(db)
  let queue: QueuedWrite[] = []
  /** Committed writes whose sync is in progress. */
  let group: QueuedWrite[] = []
  /** Readers that wait for that sync. */
  const readers: (() => void)[] = []
  let lockedSince: number | undefined
  /** After a failed sync it is unknown what is on disk, and a second sync would not help: all further writes fail. */
  let syncError: Error | undefined

  function commit(): void {
    let done = 0
    try {
      inTransaction(() => {
        const end = performance.now() + maxTransactionTime
        for (const queued of queue) {
          queued.run()
          done++
          if (performance.now() >= end) break
        }
      })
    } catch (error) {
      if (isBusy(error) && mayRetry()) {
        setTimeout(commit, lockRetryDelay)
        return
      }
      done = 0
      for (const { reject } of queue.splice(0)) reject(error)
    }
    lockedSince = undefined
    group = done === queue.length ? queue : queue.slice(0, done)
    queue = done === queue.length ? [] : queue.slice(done)
    if (disk && done > 0) disk.sync(finish)
    else finish(null)
  }

  function finish(error: Error | null): void {
    const finished = group
    group = []
    syncError ??= error ?? undefined
    for (const { resolve, reject } of finished) syncError ? reject(syncError) : resolve()
    for (const notify of readers.splice(0)) notify()
    if (syncError) for (const { reject } of queue.splice(0)) reject(syncError)
    if (queue.length > 0) setImmediate(commit)
  }

  function mayRetry(): boolean {
    lockedSince ??= performance.now()
    return performance.now() - lockedSince < lockTimeout
  }

  return {
    write<T>(write: () => T): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        if (syncError) return reject(syncError)
        let result: T
        queue.push({
          run() {
            result = write()
          },
          resolve: () => resolve(result),
          reject,
        })
        if (queue.length === 1 && group.length === 0) setImmediate(commit)
      })
    },
    pendingSync: () => (group.length === 0 ? undefined : new Promise((resolve) => readers.push(resolve))),
  }
}

interface QueuedWrite {
  readonly run: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // After some errors, such as a full disk, SQLite has already rolled back.
  }
}
