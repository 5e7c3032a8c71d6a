/** Stores in PostgreSQL, for any number of replicas: task log, limits, registry, replay cache. */

export type { LogAdmin, LogStats, MigrationPlan } from '../stores/log-admin.ts'
export { createPostgresAdmin, type PostgresAdminOptions } from '../stores/postgres/admin.ts'
export type { PostgresPool } from '../stores/postgres/connection.ts'
export { createPostgresLimits, type PostgresLimitsOptions } from '../stores/postgres/limit-store.ts'
export { createPostgresLog, type PostgresLog, type PostgresLogOptions } from '../stores/postgres/postgres-log.ts'
export { createPostgresRegistryStore, type PostgresRegistryStoreOptions } from '../stores/postgres/registry-store.ts'
export { createPostgresReplayCache, type PostgresReplayCacheOptions } from '../stores/postgres/replay-cache.ts'
