/** Stores in SQLite files: task log, registry, backups and checks. */

export type { LogAdmin, LogStats, MigrationPlan } from '../stores/log-admin.ts'
export { createSqliteAdmin, type SqliteAdmin, type SqliteAdminOptions } from '../stores/sqlite/admin.ts'
export type { SqliteDriver } from '../stores/sqlite/connection.ts'
export { createSqliteRegistryStore, type SqliteRegistryStoreOptions } from '../stores/sqlite/registry-store.ts'
export { restoreSqliteLog, type SqliteRestoreOptions } from '../stores/sqlite/restore.ts'
export { createSqliteLog, type SqliteLog, type SqliteLogOptions } from '../stores/sqlite/sqlite-log.ts'
