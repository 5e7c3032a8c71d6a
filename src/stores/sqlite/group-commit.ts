import { closeSync, fdatasync, openSync } from 'node:fs'
import { isBusy, type SqliteDatabase, TooManyWrites } from './connection.ts'
import type { LockReport } from './lock-report.ts'

/** Duration after which a transaction ends and the remaining writes wait for the next one, in milliseconds. */
const maxTransactionTime = 10

/** How long a write waits for a lock of another process by default, in milliseconds. */
const defaultPatience = 15_000

/** How long the last writes may wait for a lock when the log is closed, in milliseconds. */
const closingPatience = 2_000

/** Delay between two attempts to get the lock, in milliseconds. Each attempt blocks the event loop for a moment. */
const lockRetryDelay = { min: 5, max: 100 }

/** Writes that may wait together. More would fill memory while the file is locked. */
const maxQueued = 20_000

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
  /**
   * Queues a write and resolves with its result once it is on disk. While another process has locked the file, it waits
   * for `patience`; a patient write waits as long as it takes.
   */
  write<T>(write: () => T, isPatient?: boolean): Promise<T>
  /** Resolves when every queued write is on disk. Writes that wait for a lock are rejected soon. */
  close(): Promise<void>
  /** Resolves when everything that can be read now is on disk; undefined if it already is. */
  pendingSync(): Promise<void> | undefined
}

export interface GroupCommitOptions {
  readonly disk?: Pick<WalSync, 'sync'> | undefined
  /** How long a write waits for a lock of another process, in milliseconds. Defaults to 15 seconds. */
  readonly patience?: number
  readonly lockReport?: LockReport
}

export function createGroupCommit(db: SqliteDatabase, options: GroupCommitOptions = {}): GroupCommit {
  const { disk, patience = defaultPatience, lockReport } = options
  const inTransaction = createTransaction(db)
  let queue: QueuedWrite[] = []
  /** Committed writes whose sync is in progress. */
  let group: QueuedWrite[] = []
  /** Readers that wait for that sync. */
  const readers: (() => void)[] = []
  let lockedSince: number | undefined
  /** Time by which every write must have the lock. */
  let closeBy = Number.POSITIVE_INFINITY
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
      if (isBusy(error)) {
        waitForLock(error)
        return
      }
      done = 0
      for (const { reject } of queue.splice(0)) reject(error)
    }
    if (lockedSince !== undefined) lockReport?.acquired(performance.now() - lockedSince)
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

  /** Rejects the writes that have waited for long enough, and tries the others again. */
  function waitForLock(error: unknown): void {
    const now = performance.now()
    lockedSince ??= now
    const waited = now - lockedSince
    lockReport?.waiting(waited)
    const rest: QueuedWrite[] = []
    for (const queued of queue) {
      // Set here and not when it is queued, because most writes never wait.
      queued.expires ??= now + patience
      if (Math.min(queued.expires, closeBy) > now) rest.push(queued)
      else queued.reject(error)
    }
    queue = rest
    if (rest.length === 0) lockedSince = undefined
    else setTimeout(commit, Math.min(lockRetryDelay.max, lockRetryDelay.min + waited / 20))
  }

  function write<T>(work: () => T, isPatient = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (syncError) return reject(syncError)
      if (queue.length >= maxQueued) return reject(new TooManyWrites('too many writes are waiting'))
      let result: T
      queue.push({
        run() {
          result = work()
        },
        resolve: () => resolve(result),
        reject,
        expires: isPatient ? Number.POSITIVE_INFINITY : undefined,
      })
      if (queue.length === 1 && group.length === 0) setImmediate(commit)
    })
  }

  return {
    write,
    close() {
      closeBy = performance.now() + closingPatience
      return write(() => {})
    },
    pendingSync: () => (group.length === 0 ? undefined : new Promise((resolve) => readers.push(resolve))),
  }
}

interface QueuedWrite {
  readonly run: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  /** When the write stops waiting for a lock. Undefined until it waits for one. */
  expires: number | undefined
}

function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // After some errors, such as a full disk, SQLite has already rolled back.
  }
}
