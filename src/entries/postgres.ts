export type {
  PostgresClient,
  PostgresNotification,
  PostgresPool,
  PostgresResult,
  PostgresStatement,
  PostgresValue,
} from '../stores/postgres/connection.ts'
export {
  createPostgresLimits,
  type PostgresLimits,
  type PostgresLimitsOptions,
} from '../stores/postgres/limit-store.ts'
export { createPostgresLog, type PostgresLogOptions } from '../stores/postgres/postgres-log.ts'
export { createPostgresEntries, type PostgresEntriesOptions } from '../stores/postgres/registry-store.ts'
export {
  createPostgresReplayCache,
  type PostgresReplayCache,
  type PostgresReplayCacheOptions,
} from '../stores/postgres/replay-cache.ts'
