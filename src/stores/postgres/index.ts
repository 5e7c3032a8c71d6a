export type {
  PostgresClient,
  PostgresNotification,
  PostgresPool,
  PostgresResult,
  PostgresStatement,
  PostgresValue,
} from './driver.ts'
export { createPostgresLog, type PostgresLogOptions } from './postgres-log.ts'
