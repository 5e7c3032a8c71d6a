export type {
  PostgresClient,
  PostgresNotification,
  PostgresPool,
  PostgresResult,
  PostgresStatement,
  PostgresValue,
} from './driver.ts'
export { createPostgresEntries, type PostgresEntriesOptions } from './entry-store.ts'
export { createPostgresLimits, type PostgresLimits, type PostgresLimitsOptions } from './postgres-limits.ts'
export { createPostgresLog, type PostgresLogOptions } from './postgres-log.ts'
export { createPostgresReplayCache, type PostgresReplayCache, type PostgresReplayCacheOptions } from './replay-cache.ts'
