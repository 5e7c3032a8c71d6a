/** Stores in PostgreSQL, for any number of replicas: task log, limits, registry, replay cache. */

export { createPostgresAdmin } from '../stores/postgres/admin.ts'
export type { PostgresPool } from '../stores/postgres/connection.ts'
export { createFailoverPool } from '../stores/postgres/failover-pool.ts'
export { createPostgresLimits, type PostgresLimits } from '../stores/postgres/limit-store.ts'
export { createPostgresOwnership } from '../stores/postgres/ownership-store.ts'
export { createPostgresLog, type PostgresLog } from '../stores/postgres/postgres-log.ts'
export { createPostgresRegistryStore } from '../stores/postgres/registry-store.ts'
export { createPostgresReplayCache, type PostgresReplayCache } from '../stores/postgres/replay-cache.ts'
export type { LogAdmin, LogStats, MigrationPlan } from '../stores/shared/log-admin.ts'
