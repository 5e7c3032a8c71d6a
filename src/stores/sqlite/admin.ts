import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { defined } from '../../core/base/json.ts'
import { aFunction, checkOptions, text } from '../../core/base/options.ts'
import {
  type IntegrityCheck,
  type LogAdmin,
  type LogStats,
  type MigrationPlan,
  maxProblems,
  type RetentionRow,
  reportOf,
  type StatsRows,
  statsOf,
  type TimesRow,
} from '../shared/log-admin.ts'
import { type RunInBackground, runInThread, runOn, runWithDriver } from './background.ts'
import type { BackgroundQuery } from './background-thread.ts'
import { backUp } from './backup.ts'
import { explainError, type SqliteDatabase, type SqliteDriver } from './connection.ts'
import { migrations } from './migrations.ts'
import { nodeDriver } from './node-driver.ts'
import { formatProblem, formatWith } from './schema.ts'

/** Options of `createSqliteAdmin`. */
export interface SqliteAdminOptions {
  /** The file of the log. */
  readonly file: string
  /** Opens the file. Defaults to `node:sqlite`, whose work runs in a thread; another driver blocks the event loop. */
  readonly driver?: SqliteDriver
}

/** What operators do with the file of a SQLite log, even while agents use it. */
export interface SqliteAdmin extends LogAdmin {
  /**
   * Writes a copy of the log, as of one moment, to a file that does not exist yet. Running tasks continue. The copy
   * holds no leases: an agent that is started on it recovers unfinished tasks at once.
   */
  backup(file: string): Promise<void>
}

/** Opens the file of a SQLite log for an operator. Nothing is created or migrated. */
export function createSqliteAdmin(options: SqliteAdminOptions): SqliteAdmin {
  checkOptions('createSqliteAdmin', options, { file: text, driver: aFunction }, ['file'])
  const { file, driver = nodeDriver } = options
  return createAdmin(file, driver === nodeDriver ? runInThread : runWithDriver(driver))
}

/** The same for a log that is open: only its own connection can see a database in memory. */
export function createAdminOf(db: SqliteDatabase, file: string, driver: SqliteDriver): SqliteAdmin {
  if (file !== ':memory:') return createSqliteAdmin({ file, driver })
  return createAdmin(file, async (path, queries) => {
    if (path === file) return runOn(db, queries)
    return await runInThread(path, queries)
  })
}

function createAdmin(file: string, runInBackground: RunInBackground): SqliteAdmin {
  async function run(queries: readonly BackgroundQuery[]): Promise<readonly (readonly unknown[])[]> {
    // SQLite would create the file.
    if (file !== ':memory:' && !existsSync(file)) throw new Error(`There is no task log ${file}. Check the path.`)
    return await runInBackground(file, queries).catch((error) => {
      throw explainError(error, file)
    })
  }

  async function readFormat(): Promise<number> {
    const [rows = []] = await run([{ sql: 'PRAGMA user_version' }])
    return (rows as { readonly user_version: number }[])[0]?.user_version ?? 0
  }

  /** The format, if this version knows the tables. */
  async function requireFormat(): Promise<number> {
    const format = await readFormat()
    const problem = format === 0 ? 'it holds no task log' : formatProblem(format)
    if (problem !== undefined) throw explainError(new Error(problem), file)
    return format
  }

  return {
    async backup(target) {
      const format = await requireFormat()
      await backUp({ file, target: resolve(target), format, run: runInBackground })
    },

    async stats() {
      const format = await requireFormat()
      const rows = await run(statsQueries(format))
      const [, phases = [], times = [], pages = [], agents = [], webhooks = [], retention = []] = rows
      const [agent] = agents as { readonly name: string | null }[]
      const [page] = pages as PagesRow[]
      return {
        ...defined({ agent: agent?.name ?? undefined }),
        format,
        size: sizeOf(file, page),
        ...statsOf({
          phases: phases as StatsRows['phases'],
          times: (times as TimesRow[])[0],
          webhooks: (webhooks as { readonly total: number }[])[0]?.total ?? 0,
          retention: (retention as RetentionRow[])[0],
        }),
      }
    },

    async checkIntegrity() {
      await requireFormat()
      const [pages = [], ...found] = await run([
        { sql: `PRAGMA integrity_check(${maxProblems})` },
        ...checks.map(({ sql }) => ({ sql: `${sql} LIMIT ${maxProblems}` })),
      ])
      const damaged = (pages as { readonly integrity_check: string }[])
        .map(({ integrity_check: text }) => text)
        .filter((text) => text !== 'ok')
      const inconsistent = checks.flatMap(({ sentence }, index) =>
        (found[index] as { readonly subject: string }[]).map(({ subject }) => sentence(subject)),
      )
      return reportOf([...damaged, ...inconsistent])
    },

    planMigration: async () => planFor(await readFormat()),

    // Every piece of work opens the file for itself.
    close: async () => {},
  }
}

function planFor(format: number): MigrationPlan {
  const newest = migrations.length
  const problem = formatProblem(format)
  if (problem !== undefined) return { format, newest, steps: [], problem }
  const steps = migrations.slice(format).map((sql, index) => ({ format: format + index + 1, sql, breaksOlder: true }))
  return { format, newest, steps }
}

/** One read transaction. Tables that an older format lacks count as empty. */
function statsQueries(format: number): readonly BackgroundQuery[] {
  const since = (first: string, sql: string, empty: string) => ({ sql: format >= formatWith(first) ? sql : empty })
  return [
    { sql: 'BEGIN' },
    { sql: 'SELECT phase, count(*) AS tasks, sum(generation) AS events FROM tasks GROUP BY phase' },
    { sql: `SELECT min(created) AS oldest, max(changed) AS newest FROM tasks WHERE phase <> 'expired'` },
    {
      sql: `SELECT page_size, page_count, freelist_count
        FROM pragma_page_size, pragma_page_count, pragma_freelist_count`,
    },
    since('TABLE log_agent', 'SELECT name FROM log_agent', 'SELECT NULL AS name'),
    since('TABLE webhooks', 'SELECT count(*) AS total FROM webhooks', 'SELECT 0 AS total'),
    since(
      'TABLE retention',
      'SELECT last_run, expired, forgotten FROM retention',
      'SELECT NULL AS last_run, 0 AS expired, 0 AS forgotten',
    ),
    { sql: 'COMMIT' },
  ]
}

function sizeOf(file: string, page: PagesRow | undefined): LogStats['size'] {
  const { page_size = 0, page_count = 0, freelist_count = 0 } = page ?? {}
  const bytesOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const parts: Readonly<Record<string, number>> =
    file === ':memory:'
      ? { database: page_size * page_count }
      : { database: bytesOf(file), writeAheadLog: bytesOf(`${file}-wal`) }
  const total = Object.values(parts).reduce((sum, bytes) => sum + bytes, 0)
  return { total, parts, reusable: page_size * freelist_count }
}

const generations = `(
  SELECT task, max(generation) AS last, sum(iif(json_valid(events), json_array_length(events), 0)) AS total
  FROM events GROUP BY task)`

const checks: readonly IntegrityCheck[] = [
  {
    sql: `SELECT task_id AS subject FROM tasks LEFT JOIN ${generations} AS stored ON stored.task = tasks.key
      WHERE phase <> 'expired' AND (generation IS NOT stored.last OR generation IS NOT stored.total)`,
    sentence: (taskId) => `Task ${taskId} lacks some of its events.`,
  },
  {
    sql: `SELECT task_id AS subject FROM tasks
      WHERE status_row IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM events WHERE events.task = tasks.key AND events.generation = tasks.status_row)`,
    sentence: (taskId) => `Task ${taskId} lacks the event with its status.`,
  },
  ...['events', 'snapshots', 'claims'].map((table) => ({
    sql: `SELECT DISTINCT task AS subject FROM ${table} WHERE task NOT IN (SELECT key FROM tasks)`,
    sentence: (key: string) => `The table ${table} has rows of task number ${key}, which does not exist.`,
  })),
]

interface PagesRow {
  readonly page_size: number
  readonly page_count: number
  readonly freelist_count: number
}
