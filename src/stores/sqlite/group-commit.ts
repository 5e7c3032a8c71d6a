import { closeSync, fdatasync, openSync } from 'node:fs'
import { createTransaction, isBusy, type SqliteDatabase } from './connection.ts'

/** After so many milliseconds a transaction ends and the rest waits for the next one, so that readers get theirs. */
const longestTurn = 10

/** How long another process may hold the lock, and how long to wait between two tries, in milliseconds. */
const patience = 5_000

const pause = 5

/** Puts on disk what is committed, without holding up the event loop. */
export interface WalSync {
  sync(done: (error: Error | null) => void): void
  close(): void
}

/**
 * Lets SQLite commit without waiting for the disk, and waits for it here: what is committed lies in the write-ahead
 * log, and syncing that file is all that SQLite itself would do. Before it moves anything from there into the database
 * it still syncs by itself. Undefined where there is no such file, and SQLite goes on to wait at every commit.
 *
 * SQLite keeps its locks on two other files, so that a handle of ours on this one disturbs none of them.
 */
export function createWalSync(db: SqliteDatabase, file: string): WalSync | undefined {
  let handle: number
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get() // makes the file, if nobody has
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
 * Writes in groups, because making them durable takes as long for many as for one.
 *
 * What is queued while a group goes to disk becomes the next transaction. A write that throws takes its whole group
 * with it, so what can be refused must be answered.
 */
export interface GroupCommit {
  /** Queues a write and resolves with its answer once that is on disk. */
  write<T>(write: () => T): Promise<T>
  /** Resolves when all that can be read now is on disk; undefined if it is. */
  onDisk(): Promise<void> | undefined
}

export function createGroupCommit(db: SqliteDatabase, disk?: Pick<WalSync, 'sync'>): GroupCommit {
  const inTransaction = createTransaction(db)
  let queue: Queued[] = []
  /** What is committed and on its way to the disk, and who wants to know when it is there. */
  let group: Queued[] = []
  const readers: (() => void)[] = []
  let lockedSince: number | undefined
  /** After a failed sync nobody knows what is on disk, and asking again would not tell. */
  let broken: Error | undefined

  function commit(): void {
    let done = 0
    try {
      inTransaction(() => {
        const end = performance.now() + longestTurn
        for (const queued of queue) {
          queued.run()
          done++
          if (performance.now() >= end) break
        }
      })
    } catch (error) {
      if (isBusy(error) && isPatient()) {
        setTimeout(commit, pause)
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
    broken ??= error ?? undefined
    for (const { resolve, reject } of finished) broken ? reject(broken) : resolve()
    for (const tell of readers.splice(0)) tell()
    if (broken) for (const { reject } of queue.splice(0)) reject(broken)
    if (queue.length > 0) setImmediate(commit)
  }

  function isPatient(): boolean {
    lockedSince ??= performance.now()
    return performance.now() - lockedSince < patience
  }

  return {
    write<T>(write: () => T): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        if (broken) return reject(broken)
        let answer: T
        queue.push({
          run() {
            answer = write()
          },
          resolve: () => resolve(answer),
          reject,
        })
        if (queue.length === 1 && group.length === 0) setImmediate(commit)
      })
    },
    onDisk: () => (group.length === 0 ? undefined : new Promise((resolve) => readers.push(resolve))),
  }
}

interface Queued {
  readonly run: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}
