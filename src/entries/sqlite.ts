/** Stores in SQLite files: task log, registry, backups and checks. */

export type { LogAdmin, LogStats, MigrationPlan } from '../stores/shared/log-admin.ts'
export { createSqliteAdmin, type SqliteAdmin } from '../stores/sqlite/admin.ts'
export type { SqliteDriver } from '../stores/sqlite/connection.ts'
export { createSqliteOwnership } from '../stores/sqlite/ownership-store.ts'
export { createSqliteRegistryStore } from '../stores/sqlite/registry-store.ts'
export { restoreSqliteLog } from '../stores/sqlite/restore.ts'
export { createSqliteLog, type SqliteLog } from '../stores/sqlite/sqlite-log.ts'
