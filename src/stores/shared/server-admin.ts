import { defined } from '../../core/base/json.ts'
import { operatorError } from '../../core/protocol/errors.ts'
import { type Database, IncompatibleDatabase } from './database.ts'
import {
  type IntegrityCheck,
  type LogAdmin,
  maxProblems,
  type RetentionRow,
  reportOf,
  type StatsRows,
  statsOf,
  type TimesRow,
} from './log-admin.ts'
import { type Format, formatProblem, type Migration, planFor } from './migrations.ts'
import { decodeText } from './sql-text.ts'

/** Defaults of `AdminEngine.db`, in milliseconds. Statements read the whole log. */
export const adminTimeouts = { patience: 15_000, statementTimeout: 10 * 60_000 }

/** What differs between the engines for operators of a log. */
export interface AdminEngine {
  readonly db: Database
  /** The column of the tasks that other tables refer to. */
  readonly key: string
  readonly readFormat: () => Promise<Format>
  readonly migrations: readonly Migration[]
  readonly statementsOf: (sql: string) => string
  /** Selects the `name` and the size in `bytes` of each table. */
  readonly sizesSql: string
  /** The name of a table within a migration: one that an older format lacks counts as empty. */
  readonly tableIn: (table: string) => string
  readonly close: () => void
}

/** What operators do with a log in a database on a server. */
export function createServerAdmin(engine: AdminEngine): LogAdmin {
  const { db, key, readFormat, migrations, statementsOf } = engine
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
    const current = await readFormat()
    const problem = current.format === 0 ? 'it holds no task log; check its name' : formatProblem(current, migrations)
    if (problem !== undefined) throw new IncompatibleDatabase(problem)
    return current.format
  }

  const checks: readonly IntegrityCheck[] = [
    {
      sql: `SELECT task_id AS subject FROM ${tasks} LEFT JOIN (
          SELECT task, max(generation) AS last, count(*) AS total FROM ${events} GROUP BY task
        ) AS stored ON stored.task = ${tasks}.${key}
        WHERE phase <> 'expired' AND (stored.task IS NULL OR generation <> stored.last OR generation <> stored.total)`,
      sentence: (taskId) => `Task ${decodeText(taskId)} lacks some of its events.`,
    },
    ...['events', 'snapshots', 'claims'].map((table) => ({
      sql: `SELECT DISTINCT task AS subject FROM ${db.name(table)} AS stored
        WHERE NOT EXISTS (SELECT 1 FROM ${tasks} WHERE ${key} = stored.task)`,
      sentence: (number: string) => `The table ${table} has rows of task number ${number}, which does not exist.`,
    })),
  ]

  return {
    stats: () =>
      attempt(async () => {
        const format = await requireFormat()
        const since = <Row>(table: string, columns: string) => {
          const first = migrations.findIndex(({ sql }) => sql.includes(engine.tableIn(table))) + 1
          return format < first ? [] : query<Row>(`SELECT ${columns} FROM ${db.name(table)}`)
        }
        const [phases, times, webhooks, agents, retention, sizes] = await Promise.all([
          query<StatsRows['phases'][number]>(
            `SELECT phase, count(*) AS tasks, sum(generation) AS events FROM ${tasks} GROUP BY phase`,
          ),
          query<TimesRow>(
            `SELECT min(created) AS oldest, max(changed) AS newest FROM ${tasks} WHERE phase <> 'expired'`,
          ),
          since<{ readonly total: number | string }>('webhooks', 'count(*) AS total'),
          since<{ readonly name: string }>('log_agent', 'name'),
          since<RetentionRow>('retention', 'last_run, expired, forgotten'),
          query<{ readonly name: string; readonly bytes: number | string }>(engine.sizesSql),
        ])
        const parts = Object.fromEntries(sizes.map(({ name, bytes }) => [name, Number(bytes)]))
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
          const rows = await query<{ readonly subject: unknown }>(`${sql} LIMIT ${maxProblems}`)
          problems.push(...rows.map(({ subject }) => sentence(`${subject}`)))
        }
        return reportOf(problems)
      }),

    planMigration: () => attempt(async () => planFor(await readFormat(), migrations, statementsOf)),

    close: async () => engine.close(),
  }
}
