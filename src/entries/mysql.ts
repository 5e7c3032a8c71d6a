/** Stores in MySQL and MariaDB, for any number of replicas: task log, limits, registry, replay cache. */

export { createMysqlAdmin } from '../stores/mysql/admin.ts'
export type { MysqlPool } from '../stores/mysql/connection.ts'
export { createMysqlLimits, type MysqlLimits } from '../stores/mysql/limit-store.ts'
export { createMysqlLog, type MysqlLog } from '../stores/mysql/mysql-log.ts'
export { createMysqlOwnership } from '../stores/mysql/ownership-store.ts'
export { createMysqlRegistryStore } from '../stores/mysql/registry-store.ts'
export { createMysqlReplayCache, type MysqlReplayCache } from '../stores/mysql/replay-cache.ts'
export type { LogAdmin, LogStats, MigrationPlan } from '../stores/shared/log-admin.ts'
