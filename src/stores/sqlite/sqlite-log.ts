import { hrtime } from 'node:process'
import { type Clock, monotonicOf, systemClock } from '../../core/base/clock.ts'
import { defined } from '../../core/base/json.ts'
import { consoleLogger, type Logger } from '../../core/base/logger.ts'
import {
  aFunction,
  checkOptions,
  having,
  loggerCheck,
  milliseconds,
  type OptionChecks,
  text,
} from '../../core/base/options.ts'
import type { PushStore } from '../../core/push/store.ts'
import { createWakeups } from '../../core/tasks/follow.ts'
import { ForeignLog, type TaskLog } from '../../core/tasks/log.ts'
import type { OperatorLog } from '../../core/tasks/operator-log.ts'
import { createAdminOf, type SqliteAdmin } from './admin.ts'
import { createBackgroundQueries, runInThread, runWithDriver } from './background.ts'
import { explainError, type SqliteDatabase, type SqliteDriver, storeError } from './connection.ts'
import { createCrossProcessWakeups } from './cross-process.ts'
import { createGroupCommit, createWalSync, type GroupCommit } from './group-commit.ts'
import { createLockReport } from './lock-report.ts'
import { createLogOperations } from './log-operations.ts'
import { nodeDriver } from './node-driver.ts'
import { openDatabase, reserveFile, rewriteFormat } from './schema.ts'

/**
 * The clock of the machine. Its monotonic time counts from the start of the machine, so it is the same in all processes
 * that share a file, and no change of the time of day affects it.
 */
const machineClock: Clock = { ...systemClock, monotonic: () => Number(hrtime.bigint()) / 1e6 }

/** Options of `createSqliteLog`. */
export interface SqliteLogOptions {
  /** The database file, created with its directory if missing. Processes of one machine may share it. */
  readonly file: string
  /** Opens the file. Defaults to `node:sqlite`. */
  readonly driver?: SqliteDriver
  /** How long an operation waits for a file that another process has locked, in milliseconds. Defaults to 15 seconds. */
  readonly patience?: number
  /** Name of the agent whose tasks the file holds. Defaults to that of the first agent that uses it. */
  readonly agent?: string
  /** Receives warnings about a locked file. Defaults to the console. */
  readonly logger?: Logger
  /** Clock for leases and retention, including those of webhooks. For tests. */
  readonly clock?: Clock
}

const optionChecks: OptionChecks<SqliteLogOptions> = {
  file: text,
  driver: aFunction,
  patience: milliseconds(),
  agent: text,
  logger: loggerCheck,
  clock: having('a clock such as createVirtualClock()', 'now'),
}

/** A log that also stores the webhooks of its tasks, and can be backed up and inspected while it is in use. */
export interface SqliteLog extends TaskLog, Pick<SqliteAdmin, 'backup' | 'stats' | 'checkIntegrity'> {
  readonly webhooks: PushStore
  readonly operator: OperatorLog
}

/**
 * Creates a task log in one SQLite file. An operation that has resolved survives a crash.
 *
 * @example
 * await serve(echo, { log: createSqliteLog({ file: '/var/lib/echo/tasks.db' }) })
 */
export function createSqliteLog(options: SqliteLogOptions): SqliteLog {
  checkOptions('createSqliteLog', options, optionChecks, ['file'])
  const { file, driver = nodeDriver, clock = machineClock, patience, logger = consoleLogger } = options
  const db = open(file, driver)
  try {
    if (options.agent !== undefined) reserveFor(options.agent)
  } catch (error) {
    db.close()
    throw error
  }
  const disk = createWalSync(db, file)
  const lockReport = createLockReport(logger, file)
  const commit = createGroupCommit(db, defined({ disk, lockReport, patience }))
  const admin = createAdminOf(db, file, driver)
  const wakeups = createWakeups()
  const otherProcesses = createCrossProcessWakeups(db, wakeups, disk)
  const runInBackground = driver === nodeDriver ? runInThread : runWithDriver(driver)
  const background = createBackgroundQueries(db, { file, runInBackground })
  let closing: Promise<void> | undefined
  const access = createAccess(file, commit, () => closing !== undefined)
  const { whileOpen, write } = access

  function reserveFor(agent: string): void {
    const owner = withErrors(file, () => reserveFile(db, agent))
    if (owner !== agent) throw new ForeignLog(`The task log ${file}`, 'its own file', { agent, owner })
  }

  async function close(): Promise<void> {
    otherProcesses.stop()
    try {
      await commit.close()
      checkpoint(db)
    } catch (error) {
      throw explainError(error, file)
    } finally {
      disk?.close()
      db.close()
      wakeups.wakeAll()
    }
  }

  return {
    ...createLogOperations(db, {
      access,
      wakeups,
      now: clock.now,
      leaseTime: monotonicOf(clock),
      background,
      onWait: otherProcesses.watch,
    }),

    reserveFor: (agent) => reserveFor(options.agent ?? agent),
    check: () => write(() => rewriteFormat(db)),

    backup: whileOpen(admin.backup),
    stats: whileOpen(admin.stats),
    checkIntegrity: whileOpen(admin.checkIntegrity),

    close() {
      closing ??= close()
      return closing
    },
  }
}

/** Access to the file while the log is open. Failures are `StoreUnavailable` with the file and the remedy. */
function createAccess(file: string, commit: GroupCommit, isClosed: () => boolean) {
  function requireOpen(): void {
    if (isClosed()) throw new Error(`The task log ${file} is closed.`)
  }
  function readNow<T>(read: () => T): T {
    requireOpen()
    return withErrors(file, read)
  }
  return {
    whileOpen<A extends unknown[], R>(work: (...values: A) => Promise<R>): (...values: A) => Promise<R> {
      return async (...values) => {
        requireOpen()
        return await work(...values)
      }
    },
    readNow,
    /** Returns nothing that is not on disk yet. */
    async query<T>(read: () => T): Promise<T> {
      const result = readNow(read)
      const synced = commit.pendingSync()
      if (synced) await synced
      return result
    },
    async write<T>(work: () => T, isPatient = false): Promise<T> {
      requireOpen()
      try {
        return await commit.write(work, isPatient)
      } catch (error) {
        throw storeError(error, file)
      }
    },
  }
}

/** Moves what is stored from the write-ahead log into the file. On a full disk it stays there, and nothing is lost. */
function checkpoint(db: SqliteDatabase): void {
  try {
    db.exec('PRAGMA wal_checkpoint')
  } catch {
    // The next start reads the write-ahead log.
  }
}

function withErrors<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw storeError(error, file)
  }
}

function open(file: string, driver: SqliteDriver): SqliteDatabase {
  try {
    return openDatabase(file, driver)
  } catch (error) {
    throw explainError(error, file)
  }
}
