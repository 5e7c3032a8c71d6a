export type { SqliteDriver } from '../stores/sqlite/connection.ts'
export { createSqliteRegistryStore, type SqliteRegistryStoreOptions } from '../stores/sqlite/registry-store.ts'
export { createSqliteLog, type SqliteLogOptions } from '../stores/sqlite/sqlite-log.ts'
