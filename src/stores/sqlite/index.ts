export type { SqliteDatabase, SqliteDriver, SqliteStatement, SqliteValue } from './driver.ts'
export { createSqliteLog, type SqliteLogOptions } from './sqlite-log.ts'
