import { constants, existsSync, rmSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { aFunction, checkOptions, flag, text } from '../../core/base/options.ts'
import { createSqliteAdmin } from './admin.ts'
import { createPartial, publish, removeDatabase } from './backup.ts'
import { explainError, isBusy, type SqliteDriver } from './connection.ts'
import { nodeDriver } from './node-driver.ts'

/** Options of `restoreSqliteLog`. */
export interface SqliteRestoreOptions {
  /** A file that `backup` wrote. */
  readonly backup: string
  /** The file of the log, as the agent will open it. No process may use it. */
  readonly file: string
  /** Replaces the file if it exists. Its tasks are lost. Defaults to false. */
  readonly overwrite?: boolean
  readonly driver?: SqliteDriver
}

/** Puts a checked copy of a backup in the place of a SQLite log. Stop the agents that use the log first. */
export async function restoreSqliteLog(options: SqliteRestoreOptions): Promise<void> {
  const checks = { backup: text, file: text, overwrite: flag, driver: aFunction }
  checkOptions('restoreSqliteLog', options, checks, ['backup', 'file'])
  const { overwrite = false, driver = nodeDriver } = options
  const [backup, file] = [resolve(options.backup), resolve(options.file)]
  if (backup === file) throw new Error(`The task log ${file} cannot be restored from itself. Pass a backup of it.`)
  await requireBackup(backup, driver)
  if (existsSync(file)) {
    if (!overwrite) {
      throw new Error(`The task log ${file} exists, and its tasks would be lost. Move it, or pass overwrite: true.`)
    }
    requireUnused(file, driver)
  }
  const partial = createPartial(file)
  try {
    await copyFile(backup, partial, constants.COPYFILE_FICLONE)
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
    publish(partial, file)
  } catch (error) {
    removeDatabase(partial)
    throw explainError(error, file)
  }
}

async function requireBackup(backup: string, driver: SqliteDriver): Promise<void> {
  // A live log has its newest tasks in this file. `backup` leaves none.
  if (existsSync(`${backup}-wal`)) {
    throw new Error(`${backup} is the file of a log in use, not a backup: the newest tasks are missing in it.`)
  }
  const { isIntact, problems } = await createSqliteAdmin({ file: backup, driver }).checkIntegrity()
  if (isIntact) return
  throw new Error(`The backup ${backup} is damaged and was not restored: ${problems.slice(0, 3).join(' ')}`)
}

/** A connection can leave the write-ahead log only if it is the only one. */
function requireUnused(file: string, driver: SqliteDriver): void {
  const db = driver(file)
  try {
    db.exec('PRAGMA journal_mode = DELETE')
  } catch (error) {
    if (isBusy(error)) throw new Error(`The task log ${file} is in use. Stop its agents before you restore it.`)
    // A damaged file is what a backup is restored for.
  } finally {
    db.close()
  }
}
