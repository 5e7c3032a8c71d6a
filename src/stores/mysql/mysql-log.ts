import { defined } from '../../core/base/json.ts'
import type { Logger } from '../../core/base/logger.ts'
import { checkOptions, loggerCheck, milliseconds, type OptionChecks, text } from '../../core/base/options.ts'
import type { Database } from '../shared/database.ts'
import { createFindHead, createListHeads } from '../shared/heads.ts'
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
import type { LogEngine } from '../shared/log-engine.ts'
import { createServerLog, type ServerLog } from '../shared/server-log.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { type MysqlPool, poolCheck, subjectIn } from './connection.ts'
import { createMysqlOperatorLog } from './operator-log.ts'
import { createMysqlPushStore } from './push-store.ts'
import { migrations, openDatabase } from './schema.ts'
import {
  createEvents,
  createFindGenerations,
  createLeases,
  createRetention,
  createSnapshots,
  headSyntax,
} from './task-statements.ts'
import { createWrites } from './writes.ts'

/** Options of `createMysqlLog`. */
export interface MysqlLogOptions {
  /** A pool of `mysql2/promise`, with a database. The log does not end it. */
  readonly pool: MysqlPool
  /** How the names of the tables begin, which are created if missing. Logs with other prefixes are independent. Defaults to `parley_`. */
  readonly prefix?: string
  /** Name of the agent whose tasks the tables hold. Defaults to that of the first agent that uses them. */
  readonly agent?: string
  /**
   * How long an operation waits for an unreachable database before it fails, in milliseconds. Once the database has been
   * unreachable for longer, new calls fail at once. Defaults to 15 seconds.
   */
  readonly patience?: number
  /**
   * How long opening the log waits for an unreachable database before it fails, in milliseconds. Defaults to `patience`,
   * or to 60 seconds without one.
   */
  readonly startPatience?: number
  /** Timeout of one statement, in milliseconds. Defaults to 10 seconds. */
  readonly statementTimeout?: number
  /** Interval at which waiting readers look for events of other processes, in milliseconds. Defaults to 100 ms. */
  readonly pollInterval?: number
  /** Receives warnings about an unreachable database. Defaults to the console. */
  readonly logger?: Logger
}

const optionChecks: OptionChecks<MysqlLogOptions> = {
  pool: poolCheck,
  prefix: text,
  agent: text,
  patience: milliseconds(),
  startPatience: milliseconds(),
  statementTimeout: milliseconds({ min: 1, infinite: false }),
  pollInterval: milliseconds({ min: 1 }),
  logger: loggerCheck,
}

/** A log that also stores the webhooks of its tasks, and can be inspected while it is in use. */
export interface MysqlLog extends ServerLog {}

/**
 * Creates a task log in MySQL 8.0 or MariaDB 10.6, or newer. Any number of processes on any number of machines may share
 * it. A process learns of events of others by polling.
 * @example await serve(echo, { log: await createMysqlLog({ pool: createPool('mysql://root@localhost/agents') }) })
 */
export async function createMysqlLog(options: MysqlLogOptions): Promise<MysqlLog> {
  checkOptions('createMysqlLog', options, optionChecks, ['pool'])
  const { pool, prefix = 'parley_', patience = 15_000, statementTimeout = 10_000, pollInterval = 100 } = options
  const closing = new AbortController()
  const db = await openDatabase({
    pool,
    prefix,
    patience,
    statementTimeout,
    closed: closing.signal,
    startPatience: options.startPatience ?? options.patience,
    ...defined({ logger: options.logger }),
  })
  const { log } = createServerLog(createEngine(db, prefix), {
    agent: options.agent,
    patience,
    sender: crypto.randomUUID().slice(0, 8),
    interval: () => pollInterval,
    onClose: () => closing.abort(),
  })
  return log
}

function createEngine(db: Database, prefix: string): LogEngine {
  const insertAgent = db.prepareChange<{ readonly agent: string }>(
    ({ agent }) => `
    INSERT INTO ${db.name('log_agent')} (id, name) VALUES (1, ${agent}) ON DUPLICATE KEY UPDATE id = 1`,
  )
  const selectAgent = db.prepare<{ readonly name: string }>(() => `SELECT name FROM ${db.name('log_agent')}`)
  return {
    db,
    subject: subjectIn(prefix),
    ownPlace: 'its own prefix',
    ...createWrites(db),
    events: createEvents(db),
    snapshots: createSnapshots(db),
    findGenerations: createFindGenerations(db),
    findHead: createFindHead(db, headSyntax(db)),
    listHeads: createListHeads(db, headSyntax(db)),
    leases: createLeases(db),
    retention: createRetention(db),
    async reserve(agent) {
      await insertAgent({ agent: encodeText(agent) })
      return decodeText((await selectAgent())[0]?.name ?? '')
    },
    check: db.prepareChange(() => `UPDATE ${db.name('format')} SET format = format`),
    webhooks: (query) => createMysqlPushStore(db, query),
    operator: (query) => createMysqlOperatorLog(db, query),
    admin: createAdmin(db),
  }
}

function createAdmin(db: Database): Pick<LogAdmin, 'stats' | 'checkIntegrity'> {
  const [tasks, events] = [db.name('tasks'), db.name('events')]
  const query = <Row>(sql: string): Promise<readonly Row[]> =>
    db.withRetry(() => db.run<Row>({ text: sql, values: [] }))
  const checks: readonly IntegrityCheck[] = [
    {
      sql: `SELECT task_id AS subject FROM ${tasks} LEFT JOIN (
          SELECT task, MAX(generation) AS last, COUNT(*) AS total FROM ${events} GROUP BY task
        ) AS stored ON stored.task = ${tasks}.task_key
        WHERE phase <> 'expired' AND (stored.task IS NULL OR generation <> stored.last OR generation <> stored.total)`,
      sentence: (taskId) => `Task ${decodeText(taskId)} lacks some of its events.`,
    },
    ...['events', 'snapshots', 'claims'].map((table) => ({
      sql: `SELECT DISTINCT task AS subject FROM ${db.name(table)} AS stored
        WHERE NOT EXISTS (SELECT 1 FROM ${tasks} WHERE task_key = stored.task)`,
      sentence: (key: string) => `The table ${table} has rows of task number ${key}, which does not exist.`,
    })),
  ]
  return {
    async stats() {
      const [phases, times, webhooks, agents, retention, sizes] = await Promise.all([
        query<StatsRows['phases'][number]>(
          `SELECT phase, COUNT(*) AS tasks, SUM(generation) AS events FROM ${tasks} GROUP BY phase`,
        ),
        query<TimesRow>(`SELECT MIN(created) AS oldest, MAX(changed) AS newest FROM ${tasks} WHERE phase <> 'expired'`),
        query<{ readonly total: number }>(`SELECT COUNT(*) AS total FROM ${db.name('webhooks')}`),
        query<{ readonly name: string }>(`SELECT name FROM ${db.name('log_agent')}`),
        query<RetentionRow>(`SELECT last_run, expired, forgotten FROM ${db.name('retention')}`),
        query<{ readonly name: string; readonly bytes: number | string }>(
          `SELECT table_name AS name, data_length + index_length AS bytes FROM information_schema.tables
           WHERE table_schema = DATABASE() AND LEFT(table_name, ${db.name('').length}) = '${db.name('')}' ORDER BY 1`,
        ),
      ])
      const parts = Object.fromEntries(sizes.map(({ name, bytes }) => [name, Number(bytes)]))
      return {
        ...defined({ agent: agents[0] && decodeText(agents[0].name) }),
        format: migrations.length,
        size: { total: Object.values(parts).reduce((sum, bytes) => sum + bytes, 0), parts },
        ...statsOf({ phases, times: times[0], webhooks: webhooks[0]?.total ?? 0, retention: retention[0] }),
      }
    },
    async checkIntegrity() {
      const problems: string[] = []
      for (const { sql, sentence } of checks) {
        const rows = await query<{ readonly subject: unknown }>(`${sql} LIMIT ${maxProblems}`)
        problems.push(...rows.map(({ subject }) => sentence(`${subject}`)))
      }
      return reportOf(problems)
    },
  }
}
