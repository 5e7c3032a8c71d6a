import { checkOptions, flag, milliseconds, type OptionChecks, text } from '../../core/base/options.ts'
import type { LogAdmin } from '../shared/log-admin.ts'
import { adminTimeouts, createServerAdmin } from '../shared/server-admin.ts'
import { createPostgresDatabase, ignoreConnectionErrors, type PostgresPool, poolCheck } from './connection.ts'
import { formatOf, migrations, requireSchema, statementsOf } from './schema.ts'

/** Options of `createPostgresAdmin`. */
export interface PostgresAdminOptions {
  /** A `Pool` of the package `pg`. It is not ended. */
  readonly pool: PostgresPool
  /** The schema of the tables. Defaults to `parley`. */
  readonly schema?: string
  /** How long an operation waits for an unreachable database before it fails, in milliseconds. Defaults to 15 seconds. */
  readonly patience?: number
  /** Set to false behind PgBouncer in transaction mode: statements are not prepared. Defaults to true. */
  readonly prepare?: boolean
}

const optionChecks: OptionChecks<PostgresAdminOptions> = {
  pool: poolCheck,
  schema: text,
  patience: milliseconds(),
  prepare: flag,
}

/** Opens a PostgreSQL log for an operator, even while agents use it. Nothing is created or migrated. */
export function createPostgresAdmin(options: PostgresAdminOptions): LogAdmin {
  checkOptions('createPostgresAdmin', options, optionChecks, ['pool'])
  const { pool, schema = 'parley', patience = adminTimeouts.patience, prepare } = options
  requireSchema(schema)
  ignoreConnectionErrors(pool)
  const closing = new AbortController()
  return createServerAdmin({
    db: createPostgresDatabase({ pool, schema, prepare, ...adminTimeouts, patience, closed: closing.signal }),
    key: 'key',
    readFormat: () => formatOf(pool, schema),
    migrations,
    statementsOf: (sql) => statementsOf(sql, schema),
    sizesSql: `
      SELECT relname AS name, pg_total_relation_size(pg_class.oid) AS bytes
      FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
      WHERE nspname = '${schema}' AND relkind IN ('r', 'p') ORDER BY relname`,
    tableIn: (table) => `TABLE $.${table} (`,
    close: () => closing.abort(),
  })
}
