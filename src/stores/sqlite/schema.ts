import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isBusy, type SqliteDatabase, type SqliteDriver } from './connection.ts'
import { createTransaction } from './group-commit.ts'
import { migrations } from './migrations.ts'

/** How long processes that start together wait for each other, in milliseconds. */
const lockTimeout = 5_000

/** Delay between two attempts to get the lock, in milliseconds. */
const lockRetryDelay = 10

/** Opens and migrates a database file, whose commits survive a crash of the process and of the machine. */
export function openDatabase(file: string, driver: SqliteDriver): SqliteDatabase {
  if (file !== ':memory:') createPrivateFile(file)
  const db = driver(file)
  try {
    db.exec('PRAGMA busy_timeout = 5000')
    whileBusy(() => db.exec('PRAGMA journal_mode = WAL'))
    db.exec('PRAGMA synchronous = FULL')
    // Pages that change often are written back less often; the write-ahead log may therefore grow to 16 MB.
    db.exec('PRAGMA wal_autocheckpoint = 4000')
    // Replaced content is overwritten where that costs no extra write; see `withSecureDelete` for deletions.
    db.exec('PRAGMA secure_delete = FAST')
    whileBusy(() => migrate(db))
    // From here on, waiting for a lock must not block the event loop; see group-commit.ts.
    db.exec('PRAGMA busy_timeout = 10')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Creates a directory for its owner alone, and its parents. Not by `recursive` of Node, which retries for ever where the
 * operating system says that an existing parent does not exist, such as in `/proc`.
 */
export function createPrivateDirectory(directory: string): void {
  if (isDirectory(directory)) return
  const parent = dirname(directory)
  if (parent !== directory && !statSync(parent, { throwIfNoEntry: false })) createPrivateDirectory(parent)
  try {
    mkdirSync(directory, { mode: 0o700 })
    // Set again, because the umask may have removed rights of the owner too.
    chmodSync(directory, 0o700)
  } catch (error) {
    // Another process may have created it in the meantime.
    if (!isDirectory(directory)) throw error
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Creates the file and its directory for their owner alone. SQLite gives the same permissions to its other files. */
export function createPrivateFile(file: string): void {
  createPrivateDirectory(dirname(file))
  try {
    closeSync(openSync(file, 'wx', 0o600))
    chmodSync(file, 0o600)
  } catch {
    // It exists, or cannot be created; then opening it reports why.
  }
  for (const path of [file, `${file}-wal`, `${file}-shm`]) makePrivate(path)
}

/** Takes the rights of other users from an existing file. */
function makePrivate(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats?.isFile() || (stats.mode & 0o077) === 0) return
  try {
    chmodSync(path, stats.mode & 0o700)
  } catch {
    // It belongs to another user, who decides about its permissions.
  }
}

/** Retries while the database is locked: SQLite ignores its timeout when it changes the journal mode. */
function whileBusy(work: () => void): void {
  const end = performance.now() + lockTimeout
  for (;;) {
    try {
      work()
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error
      // Blocks the event loop: nothing else can happen before the log is open.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lockRetryDelay)
    }
  }
}

/** Upgrades a database to the newest format. Only one of several processes that start together does so. */
function migrate(db: SqliteDatabase): void {
  const newest = migrations.length
  if (formatOf(db) === newest) return
  createTransaction(db)(() => {
    const format = formatOf(db) // read again: another process may have migrated meanwhile
    const problem = formatProblem(format)
    if (problem !== undefined) throw new Error(problem)
    for (const migration of migrations.slice(format)) db.exec(migration)
    db.exec(`PRAGMA user_version = ${newest}`)
  })
}

/** Why this version cannot use a format. Undefined if it can. */
export function formatProblem(format: number): string | undefined {
  const newest = migrations.length
  if (format <= newest) return undefined
  return `it has format ${format} of a newer parley-a2a, and this one knows formats up to ${newest}; update parley-a2a`
}

/** The first format whose migration has this piece of SQL. */
export function formatWith(sql: string): number {
  return migrations.findIndex((migration) => migration.includes(sql)) + 1
}

/** Reserves the file for an agent, unless it belongs to one. Returns the name of the agent that it belongs to. */
export function reserveFile(db: SqliteDatabase, agent: string): string {
  const select = db.prepare('SELECT name FROM log_agent')
  const owner = () => (select.get() as { readonly name: string } | undefined)?.name
  const known = owner()
  if (known !== undefined) return known
  try {
    const insert = db.prepare('INSERT INTO log_agent (name) SELECT ? WHERE NOT EXISTS (SELECT 1 FROM log_agent)')
    whileBusy(() => void insert.run(agent))
  } catch {
    return agent // the file cannot be written now, and later operations report why
  }
  return owner() ?? agent
}

/** Writes the format that is there. Shows whether the file can be written, without changing it. */
export function rewriteFormat(db: SqliteDatabase): void {
  db.exec(`PRAGMA user_version = ${formatOf(db)}`)
}

function formatOf(db: SqliteDatabase): number {
  return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
}
