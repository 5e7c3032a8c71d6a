import type { SqliteDatabase } from './driver.ts'
import { createTransaction } from './transaction.ts'
import { isBusy } from './trouble.ts'

/**
 * Queues a write and resolves with its answer once that is on disk.
 *
 * What is queued in one turn of the event loop becomes one transaction, because making it durable takes as long for
 * many writes as for one. A write that throws takes its whole group with it, so what can be refused must be answered.
 */
export type GroupCommit = <T>(write: () => T) => Promise<T>

/** After so many milliseconds a transaction ends and the rest waits for the next turn, so that readers get theirs. */
const longestTurn = 10
/** How long another process may hold the lock, and how long to wait between two tries, in milliseconds. */
const patience = 5_000
const pause = 5

export function createGroupCommit(db: SqliteDatabase): GroupCommit {
  const inTransaction = createTransaction(db)
  const queue: Queued[] = []
  let lockedSince: number | undefined

  function schedule() {
    if (lockedSince === undefined) setImmediate(commit)
    else setTimeout(commit, pause)
  }

  function commit() {
    const answers: (() => void)[] = []
    try {
      inTransaction(() => {
        const end = performance.now() + longestTurn
        for (const { write } of queue) {
          answers.push(write())
          if (performance.now() >= end) break
        }
      })
      lockedSince = undefined
      queue.splice(0, answers.length)
      for (const answer of answers) answer()
    } catch (error) {
      if (isBusy(error) && isPatient()) return schedule()
      lockedSince = undefined
      for (const { reject } of queue.splice(0)) reject(error)
    }
    if (queue.length > 0) schedule()
  }

  function isPatient(): boolean {
    lockedSince ??= performance.now()
    return performance.now() - lockedSince < patience
  }

  return (write) =>
    new Promise((resolve, reject) => {
      queue.push({ write: () => answering(write, resolve), reject })
      if (queue.length === 1) schedule()
    })
}

interface Queued {
  /** Does it, and gives back how to say so. */
  readonly write: () => () => void
  readonly reject: (error: unknown) => void
}

function answering<T>(write: () => T, resolve: (answer: T) => void): () => void {
  const answer = write()
  return () => resolve(answer)
}
