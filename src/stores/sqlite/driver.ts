/** As much of a SQLite driver as is used here. `DatabaseSync` of node:sqlite fits, and so does better-sqlite3. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

export interface SqliteStatement {
  run(...values: SqliteValue[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint }
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  iterate(...values: SqliteValue[]): Iterable<unknown>
}

export type SqliteValue = string | number | null

/** Opens a file, and makes it if it is not there. */
export type SqliteDriver = (file: string) => SqliteDatabase

/** The SQLite that comes with Node; loaded on demand, because who hands in a driver may have none. */
export const nodeDriver: SqliteDriver = (file) => {
  const sqlite = process.getBuiltinModule('node:sqlite')
  if (!sqlite) throw new Error('this Node has no node:sqlite. Use Node 22.13 or newer, or hand in a driver')
  return new sqlite.DatabaseSync(file)
}
