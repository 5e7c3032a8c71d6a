/** Stores in MySQL and MariaDB, for any number of replicas: the task log with its webhooks. */

export type { MysqlPool } from '../stores/mysql/connection.ts'
export { createMysqlLog, type MysqlLog } from '../stores/mysql/mysql-log.ts'
