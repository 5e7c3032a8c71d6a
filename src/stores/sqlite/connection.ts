import { StoreUnavailable } from '../../core/protocol/errors.ts'

const locked =
  'is locked by another process. Find the one that keeps a transaction open (a backup, a sqlite3 shell) and stop it.'

const forbidden =
  'cannot be written. Give the user of this process write access to the file and its directory, or choose another directory.'

export type SqliteValue = string | number | null

export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint }
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  iterate(...values: SqliteValue[]): Iterable<unknown>
}

/** The part of a SQLite driver that the stores use. `DatabaseSync` of `node:sqlite` and better-sqlite3 implement it. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

/** Opens a database file, creating it if missing. */
export type SqliteDriver = (file: string) => SqliteDatabase

/** How a log reads and writes its database. Each method fails if the log is closed. */
export interface LogAccess {
  /** Reads what was written, whether or not it is durable yet. */
  readNow<T>(read: () => T): T
  /** Reads, and resolves when everything that was read is durable. */
  query<T>(read: () => T): Promise<T>
  /** Writes in a transaction. A patient write waits for a database that is locked. */
  write<T>(work: () => T, isPatient?: boolean): Promise<T>
}

/** An error for the operator: which file, what is wrong, what to do. */
export function explainError(error: unknown, file: string, subject = 'The task log'): Error {
  const message = error instanceof Error ? error.message : String(error)
  const failure = failures.find((candidate) => isFailure(error, candidate))
  const advice = failure?.advice ?? systemAdvice[systemCodeOf(error) ?? '']
  const explanation = advice === undefined ? `cannot be used: ${message}` : `${advice} (${message})`
  return new Error(`${subject} ${file} ${explanation}`, { cause: error })
}

/** The error of a failed operation: `StoreUnavailable` if the file cannot be used, with the explanation as its cause. */
export function storeError(error: unknown, file: string, subject?: string): Error {
  const explained = explainError(error, file, subject)
  const isUnusable =
    failures.some((failure) => isFailure(error, failure)) || error instanceof TooManyWrites || isSystemError(error)
  return isUnusable ? new StoreUnavailable(explained) : explained
}

/** A store whose async methods fail with `storeError`. */
export function withStoreErrors<T extends object>(store: T, file: string, subject: string): T {
  const methods = Object.entries<AsyncMethod>(store as Record<string, AsyncMethod>).map(([name, method]) => [
    name,
    (...values: unknown[]) =>
      method(...values).catch((error) => {
        throw storeError(error, file, subject)
      }),
  ])
  return Object.fromEntries(methods) as T
}

type AsyncMethod = (...values: unknown[]) => Promise<unknown>

/** More writes wait than memory should hold: the file is locked, or the disk is too slow. */
export class TooManyWrites extends Error {
  override readonly name = 'TooManyWrites'
}

/** Whether another connection holds the lock, so that a retry may succeed. */
export function isBusy(error: unknown): boolean {
  return isFailure(error, busy)
}

/** Runs deletions so that the deleted content cannot be read from free pages of the file. */
export function withSecureDelete<T>(db: SqliteDatabase, work: () => T): T {
  db.exec('PRAGMA secure_delete = ON')
  try {
    return work()
  } finally {
    db.exec('PRAGMA secure_delete = FAST')
  }
}

const busy: Failure = { number: 5, name: 'SQLITE_BUSY', advice: locked }

const systemAdvice: Readonly<Record<string, string>> = {
  EACCES: forbidden,
  EPERM: forbidden,
  EROFS: forbidden,
  EEXIST: 'cannot be created, because its directory is a file or a broken link. Move it, or choose another directory.',
  ENOTDIR: 'cannot be created, because a part of its path is a file. Choose another directory.',
  ENOENT: 'cannot be created: the file system allows no new files there. Choose another directory.',
  ENOSPC: 'cannot grow: the disk is full. Free some space; what was stored before is safe.',
}

const failures: readonly Failure[] = [
  busy,
  { number: 6, name: 'SQLITE_LOCKED', advice: locked },
  { number: 3, name: 'SQLITE_PERM', advice: forbidden },
  { number: 8, name: 'SQLITE_READONLY', advice: forbidden },
  {
    number: 10,
    name: 'SQLITE_IOERR',
    advice: 'cannot be read or written. Check the disk; SQLite needs a local one, not a network share.',
  },
  {
    number: 11,
    name: 'SQLITE_CORRUPT',
    advice:
      'is damaged. Restore it from a backup, or save what is left with the .recover command of the sqlite3 shell.',
  },
  {
    number: 13,
    name: 'SQLITE_FULL',
    advice: 'cannot grow: the disk is full. Free some space; what was stored before is safe.',
  },
  {
    number: 14,
    name: 'SQLITE_CANTOPEN',
    advice: 'cannot be opened. Check that it is a file and that the user of this process may write its directory.',
  },
  {
    number: 26,
    name: 'SQLITE_NOTADB',
    advice: 'is not a SQLite database. Choose another file, or restore this one from a backup.',
  },
]

interface Failure {
  /** The primary result code. */
  readonly number: number
  readonly name: string
  readonly advice: string
}

/** An error of the operating system, such as a failed sync. */
function isSystemError(error: unknown): boolean {
  return systemCodeOf(error) !== undefined
}

/** Such as `EACCES`. */
function systemCodeOf(error: unknown): string | undefined {
  const isSystem = error instanceof Error && 'syscall' in error && 'errno' in error && 'code' in error
  return isSystem ? String(error.code) : undefined
}

/** `node:sqlite` reports the extended result code, whose lowest byte is the primary one; better-sqlite3 its name. */
function isFailure(error: unknown, { number, name }: Failure): boolean {
  if (!(error instanceof Error)) return false
  if ('errcode' in error && typeof error.errcode === 'number') return (error.errcode & 0xff) === number
  return 'code' in error && typeof error.code === 'string' && error.code.startsWith(name)
}
