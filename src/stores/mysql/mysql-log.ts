import { defined } from '../../core/base/json.ts'
import type { Logger } from '../../core/base/logger.ts'
import { checkOptions, loggerCheck, milliseconds, type OptionChecks, text } from '../../core/base/options.ts'
import type { Database } from '../shared/database.ts'
import { createFindHead, createListHeads } from '../shared/heads.ts'
import type { LogEngine } from '../shared/log-engine.ts'
import { createServerLog, type ServerLog } from '../shared/server-log.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { createMysqlAdmin } from './admin.ts'
import { type MysqlPool, poolCheck, subjectIn } from './connection.ts'
import { createMysqlOperatorLog } from './operator-log.ts'
import { createMysqlPushStore } from './push-store.ts'
import { openDatabase } from './schema.ts'
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
  const { log } = createServerLog(createEngine(db, { pool, prefix, patience }), {
    agent: options.agent,
    patience,
    sender: crypto.randomUUID().slice(0, 8),
    interval: () => pollInterval,
    onClose: () => closing.abort(),
  })
  return log
}

function createEngine(
  db: Database,
  { pool, prefix, patience }: { pool: MysqlPool; prefix: string; patience: number },
): LogEngine {
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
    admin: createMysqlAdmin({ pool, prefix, patience }),
  }
}
