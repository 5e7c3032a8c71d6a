import { defined } from '../../core/base/json.ts'
import { checkOptions, flag, milliseconds, type OptionChecks, text } from '../../core/base/options.ts'
import { operatorError } from '../../core/protocol/errors.ts'
import { IncompatibleDatabase } from '../shared/database.ts'
import {
  type IntegrityCheck,
  type LogAdmin,
  maxProblems,
  type RetentionRow,
  reportOf,
  type StatsRows,
  statsOf,
  type TimesRow,
} from '../shared/log-admin.ts'
import { formatProblem, planFor } from '../shared/migrations.ts'
import { decodeText } from '../shared/sql-text.ts'
import { createPostgresDatabase, ignoreConnectionErrors, type PostgresPool, poolCheck } from './connection.ts'
import { formatOf, formatWith, migrations, requireSchema, statementsOf } from './schema.ts'

/** How long an unreachable database is waited for, in milliseconds. */
const defaultPatience = 15_000

/** Timeout of a statement that reads the whole log, in milliseconds. */
const readTimeout = 10 * 60_000

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
  const { pool, schema = 'parley', patience = defaultPatience, prepare } = options
  requireSchema(schema)
  ignoreConnectionErrors(pool)
  const closing = new AbortController()
  const { signal: closed } = closing
  const db = createPostgresDatabase({ pool, schema, prepare, patience, statementTimeout: readTimeout, closed })
  const [tasks, events] = [db.name('tasks'), db.name('events')]

  const query = <Row>(text: string): Promise<readonly Row[]> => db.run<Row>({ text, values: [] })

  /** At the command line, the operator is the caller. */
  async function attempt<T>(work: () => Promise<T>): Promise<T> {
    return await db.withRetry(work).catch((error) => {
      throw operatorError(error)
    })
  }

  /** The format, if this version knows the tables. */
  async function requireFormat(): Promise<number> {
    const current = await formatOf(pool, schema)
    const problem = current.format === 0 ? 'it holds no task log; check its name' : formatProblem(current, migrations)
    if (problem !== undefined) throw new IncompatibleDatabase(problem)
    return current.format
  }

  const checks: readonly IntegrityCheck[] = [
    {
      sql: `SELECT task_id AS subject FROM ${tasks} LEFT JOIN (
          SELECT task, max(generation) AS last, count(*) AS total FROM ${events} GROUP BY task
        ) AS stored ON stored.task = ${tasks}.key
        WHERE phase <> 'expired' AND (stored.task IS NULL OR generation <> stored.last OR generation <> stored.total)`,
      sentence: (taskId) => `Task ${decodeText(taskId)} lacks some of its events.`,
    },
    ...['events', 'snapshots', 'claims'].map((table) => ({
      sql: `SELECT DISTINCT task AS subject FROM ${db.name(table)} AS stored
        WHERE NOT EXISTS (SELECT FROM ${tasks} WHERE key = stored.task)`,
      sentence: (key: string) => `The table ${table} has rows of task number ${key}, which does not exist.`,
    })),
  ]

  async function readSize(): Promise<Readonly<Record<string, number>>> {
    const rows = await query<{ readonly name: string; readonly bytes: string }>(`
      SELECT relname AS name, pg_total_relation_size(pg_class.oid) AS bytes
      FROM pg_class JOIN pg_namespace ON pg_namespace.oid = pg_class.relnamespace
      WHERE nspname = '${schema}' AND relkind IN ('r', 'p') ORDER BY relname`)
    return Object.fromEntries(rows.map(({ name, bytes }) => [name, Number(bytes)]))
  }

  return {
    stats: () =>
      attempt(async () => {
        const format = await requireFormat()
        /** A table that an older format lacks counts as empty. */
        const since = <Row>(table: string, columns: string) =>
          format < formatWith(`TABLE $.${table} (`)
            ? Promise.resolve([])
            : query<Row>(`SELECT ${columns} FROM ${db.name(table)}`)
        const [phases, times, webhooks, agents, retention, parts] = await Promise.all([
          query<StatsRows['phases'][number]>(
            `SELECT phase, count(*) AS tasks, sum(generation) AS events FROM ${tasks} GROUP BY phase`,
          ),
          query<TimesRow>(
            `SELECT min(created) AS oldest, max(changed) AS newest FROM ${tasks} WHERE phase <> 'expired'`,
          ),
          since<{ readonly total: string }>('webhooks', 'count(*) AS total'),
          since<{ readonly name: string }>('log_agent', 'name'),
          since<RetentionRow>('retention', 'last_run, expired, forgotten'),
          readSize(),
        ])
        return {
          ...defined({ agent: agents[0] && decodeText(agents[0].name) }),
          format,
          size: { total: Object.values(parts).reduce((sum, bytes) => sum + bytes, 0), parts },
          ...statsOf({ phases, times: times[0], webhooks: webhooks[0]?.total ?? 0, retention: retention[0] }),
        }
      }),

    checkIntegrity: () =>
      attempt(async () => {
        await requireFormat()
        const problems: string[] = []
        for (const { sql, sentence } of checks) {
          const rows = await query<{ readonly subject: string }>(`${sql} LIMIT ${maxProblems}`)
          problems.push(...rows.map(({ subject }) => sentence(`${subject}`)))
        }
        return reportOf(problems)
      }),

    planMigration: () =>
      attempt(async () => planFor(await formatOf(pool, schema), migrations, (sql) => statementsOf(sql, schema))),

    close: async () => closing.abort(),
  }
}
