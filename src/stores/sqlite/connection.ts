const locked =
  'is locked by another process. Find the one that keeps a transaction open (a backup, a sqlite3 shell) and end it.'

const forbidden = 'may not be written. Let the user of this process write the file and its directory.'

export type SqliteValue = string | number | null

export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint }
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  iterate(...values: SqliteValue[]): Iterable<unknown>
}

/** As much of a SQLite driver as is used here. `DatabaseSync` of node:sqlite fits, and so does better-sqlite3. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

/** Opens a file, and makes it if it is not there. */
export type SqliteDriver = (file: string) => SqliteDatabase

/** The SQLite that comes with Node; loaded on demand, because who hands in a driver may have none. */
export const nodeDriver: SqliteDriver = (file) => {
  const sqlite = process.getBuiltinModule('node:sqlite')
  if (!sqlite) throw new Error('this Node has no node:sqlite. Use Node 22.13 or newer, or hand in a driver')
  return new sqlite.DatabaseSync(file)
}

/** Does all of the work or nothing. Holds the lock of the only writer from its start, so what it reads stays true. */
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

/** An error for the operator's log: which file, what is wrong, what to do. */
export function explainTrouble(error: unknown, file: string): Error {
  const message = error instanceof Error ? error.message : String(error)
  const known = troubles.find((trouble) => isTrouble(error, trouble))
  const what = known ? `${known.advice} (${message})` : `cannot be used: ${message}`
  return new Error(`The task log ${file} ${what}`, { cause: error })
}

/** Somebody else holds the lock; it may be free in a moment. */
export function isBusy(error: unknown): boolean {
  return isTrouble(error, busy)
}

/** Does what removes something so that it cannot be read in the free pages of the file any more. */
export function withSecureDelete<T>(db: SqliteDatabase, work: () => T): T {
  db.exec('PRAGMA secure_delete = ON')
  try {
    return work()
  } finally {
    db.exec('PRAGMA secure_delete = FAST')
  }
}

function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // After some errors, such as a full disk, SQLite has done it already.
  }
}

const busy: Trouble = { number: 5, name: 'SQLITE_BUSY', advice: locked }

const troubles: readonly Trouble[] = [
  busy,
  { number: 6, name: 'SQLITE_LOCKED', advice: locked },
  { number: 3, name: 'SQLITE_PERM', advice: forbidden },
  { number: 8, name: 'SQLITE_READONLY', advice: forbidden },
  {
    number: 10,
    name: 'SQLITE_IOERR',
    advice: 'cannot be read or written. Check the disk; a network share will not do, SQLite needs a local one.',
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
    advice: 'is no SQLite database. Choose another file, or restore this one from a backup.',
  },
]

interface Trouble {
  readonly number: number
  readonly name: string
  readonly advice: string
}

/** node:sqlite tells the extended number, whose lowest byte is the kind; better-sqlite3 tells the extended name. */
function isTrouble(error: unknown, { number, name }: Trouble): boolean {
  if (!(error instanceof Error)) return false
  if ('errcode' in error && typeof error.errcode === 'number') return (error.errcode & 0xff) === number
  return 'code' in error && typeof error.code === 'string' && error.code.startsWith(name)
}
