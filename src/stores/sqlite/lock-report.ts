import { readFileSync, statSync } from 'node:fs'
import type { Logger } from '../../core/base/logger.ts'

/** Waiting time after which the operator learns about a lock, in milliseconds. Shorter waits are normal. */
const firstReport = 1_000

/** Time between two reports about the same lock, in milliseconds. */
const nextReports = 30_000

/** Reports to the operator that writes wait for a lock of another process. */
export interface LockReport {
  /** Called at every failed attempt to get the lock, with the milliseconds since the first one. */
  waiting(milliseconds: number): void
  /** Called when the lock was acquired after waiting. */
  acquired(milliseconds: number): void
}

export function createLockReport(logger: Logger, file: string): LockReport {
  let reportedAt: number | undefined
  return {
    waiting(milliseconds) {
      const now = performance.now()
      if (milliseconds < firstReport || (reportedAt !== undefined && now - reportedAt < nextReports)) return
      reportedAt = now
      const fields = { file, waited: Math.round(milliseconds), holders: lockHolders(file) }
      logger.warn(fields, 'writes wait for another process that has locked the task log; stop or continue that process')
    },
    acquired(milliseconds) {
      if (reportedAt === undefined) return
      reportedAt = undefined
      logger.info({ file, waited: Math.round(milliseconds) }, 'the task log is no longer locked by another process')
    },
  }
}

/** The ids of the other processes that hold a write lock on the file. Linux only; empty elsewhere. */
function lockHolders(file: string): readonly number[] {
  try {
    // In WAL mode, SQLite keeps its locks on the file of shared memory.
    const { ino } = statSync(`${file}-shm`)
    const locks = readFileSync('/proc/locks', 'utf8').split('\n')
    const holders = locks.flatMap((line) => {
      const [, pid, inode] = /\sWRITE\s+(\d+)\s+[^:\s]+:[^:\s]+:(\d+)\s/.exec(line) ?? []
      return Number(inode) === ino && Number(pid) > 0 && Number(pid) !== process.pid ? [Number(pid)] : []
    })
    return [...new Set(holders)]
  } catch {
    return []
  }
}
