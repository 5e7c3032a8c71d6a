export type { SqliteDriver } from '../stores/sqlite/connection.ts'
export { createSqliteEntries, type SqliteEntriesOptions } from '../stores/sqlite/registry-store.ts'
export { createSqliteLog, type SqliteLogOptions } from '../stores/sqlite/sqlite-log.ts'
