export type { SqliteDatabase, SqliteDriver, SqliteStatement, SqliteValue } from './driver.ts'
export { createSqliteEntries, type SqliteEntriesOptions } from './entry-store.ts'
export { createSqliteLog, type SqliteLogOptions } from './sqlite-log.ts'
