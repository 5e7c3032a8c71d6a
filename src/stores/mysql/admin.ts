import { checkOptions, milliseconds, text } from '../../core/base/options.ts'
import type { LogAdmin } from '../shared/log-admin.ts'
import { adminTimeouts, createServerAdmin } from '../shared/server-admin.ts'
import { createMysqlDatabase, type MysqlPool, poolCheck } from './connection.ts'
import { formatOf, migrations, requirePrefix, statementsOf } from './schema.ts'

/** Options of `createMysqlAdmin`. */
export interface MysqlAdminOptions {
  /** A pool of `mysql2/promise`, with a database. It is not ended. */
  readonly pool: MysqlPool
  /** How the names of the tables begin. Defaults to `parley_`. */
  readonly prefix?: string
  /** How long an operation waits for an unreachable database before it fails, in milliseconds. Defaults to 15 seconds. */
  readonly patience?: number
}

/** Opens a MySQL log for an operator, even while agents use it. Nothing is created or migrated. */
export function createMysqlAdmin(options: MysqlAdminOptions): LogAdmin {
  checkOptions('createMysqlAdmin', options, { pool: poolCheck, prefix: text, patience: milliseconds() }, ['pool'])
  const { pool, prefix = 'parley_', patience = adminTimeouts.patience } = options
  requirePrefix(prefix)
  const closing = new AbortController()
  return createServerAdmin({
    db: createMysqlDatabase({ pool, prefix, ...adminTimeouts, patience, closed: closing.signal }),
    key: 'task_key',
    readFormat: () => formatOf(pool, prefix),
    migrations,
    statementsOf: (sql) => statementsOf(sql, prefix),
    sizesSql: `
      SELECT SUBSTR(table_name, ${prefix.length + 1}) AS name, data_length + index_length AS bytes
      FROM information_schema.tables
      WHERE table_schema = DATABASE() AND LEFT(table_name, ${prefix.length}) = '${prefix}' ORDER BY 1`,
    tableIn: (table) => `EXISTS $${table} (`,
    close: () => closing.abort(),
  })
}
