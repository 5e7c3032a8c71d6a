import { defined } from '../../core/base/json.ts'
import type { Logger } from '../../core/base/logger.ts'
import {
  checkOptions,
  flag,
  group,
  listOf,
  loggerCheck,
  milliseconds,
  type OptionChecks,
  text,
} from '../../core/base/options.ts'
import type { Database } from '../shared/database.ts'
import { createFindHead, createListHeads } from '../shared/heads.ts'
import type { LogEngine } from '../shared/log-engine.ts'
import { createServerLog, type ServerLog } from '../shared/server-log.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { decodeNotification } from '../shared/waiters.ts'
import { createPostgresAdmin } from './admin.ts'
import { createAppendAll } from './append.ts'
import { createAppendByWriter } from './append-fast-path.ts'
import {
  createPostgresDatabase,
  type DatabaseOptions,
  ignoreConnectionErrors,
  type PostgresPool,
  poolCheck,
  subjectIn,
} from './connection.ts'
import { createCreateAll, createFindClaim } from './create.ts'
import { createEvents, createSnapshots } from './events.ts'
import { createFailoverPool } from './failover-pool.ts'
import { headSyntax } from './heads.ts'
import { createLeases } from './leases.ts'
import { createListener } from './listener.ts'
import { createFindGenerations, createNotifyReplicas } from './notifications.ts'
import { createPostgresOperatorLog } from './operator/operator-log.ts'
import { createPostgresPushStore } from './push-store.ts'
import { createReplica, createReplicaReads, readOperatorReplica } from './replica.ts'
import { createRetention } from './retention.ts'
import { openDatabase } from './schema.ts'

/** Options of `createPostgresLog`. */
export interface PostgresLogOptions {
  /** A `Pool` of the package `pg`. The log keeps one of its connections for notifications, and does not end the pool. */
  readonly pool?: PostgresPool
  /** In place of `pool`, a pool for each of several servers, such as a primary and its standbys: the log uses the primary. */
  readonly pools?: readonly PostgresPool[]
  /** The schema of the tables, created if missing. Logs in different schemas are independent. Defaults to `parley`. */
  readonly schema?: string
  /** Name of the agent whose tasks the schema holds. Defaults to that of the first agent that uses it. */
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
  /**
   * Set to false behind PgBouncer in transaction mode: statements are not prepared, and readers poll unless `listen` is set.
   * Defaults to true.
   */
  readonly prepare?: boolean
  /** A pool with direct connections to the primary, of which one listens for notifications. Defaults to `pool`. */
  readonly listen?: PostgresPool
  /**
   * A pool of a standby for reads: tasks, lists, the catch-up of streams, the console. No answer is older than what this process
   * has answered before, or than the position that a caller names.
   */
  readonly read?: PostgresPool
  /** How far `read` may be behind before the primary is read instead, in milliseconds. Defaults to 1 second. */
  readonly maxLag?: number
  /** Polling interval with and without a connection for notifications, in milliseconds. Defaults to 1 second and 100 ms. */
  readonly pollInterval?: { readonly listening: number; readonly deaf: number }
  /** Receives warnings about an unreachable database. Defaults to the console. */
  readonly logger?: Logger
}

const optionChecks: OptionChecks<PostgresLogOptions> = {
  pool: poolCheck,
  pools: listOf(poolCheck),
  schema: text,
  agent: text,
  patience: milliseconds(),
  startPatience: milliseconds(),
  statementTimeout: milliseconds({ min: 1, infinite: false }),
  prepare: flag,
  listen: poolCheck,
  read: poolCheck,
  maxLag: milliseconds({ min: 1, infinite: false }),
  pollInterval: group<NonNullable<PostgresLogOptions['pollInterval']>>({
    listening: milliseconds({ min: 1 }),
    deaf: milliseconds({ min: 1 }),
  }),
  logger: loggerCheck,
}

/** A log that also stores the webhooks of its tasks, and can be inspected while it is in use. */
export interface PostgresLog extends ServerLog {}

/**
 * Creates a task log in PostgreSQL 13 or newer. Any number of processes on any number of machines may share it.
 * @example await serve(echo, { log: await createPostgresLog({ pool: new Pool() }) })
 */
export async function createPostgresLog(options: PostgresLogOptions): Promise<PostgresLog> {
  checkOptions('createPostgresLog', options, optionChecks, options.pools ? [] : ['pool'])
  const { schema = 'parley', patience = 15_000, statementTimeout = 10_000 } = options
  const pool = poolOf(options)
  const { prepare, listen = prepare === false ? undefined : pool } = options
  const { pollInterval = { listening: 1_000, deaf: 100 } } = options
  const closing = new AbortController()
  const { signal: closed } = closing
  const sender = crypto.randomUUID().slice(0, 8)
  const channel = `parley ${schema}`
  const listener = createListener({
    pool: listen,
    channel,
    statementTimeout,
    closed,
    onListening: () => waiters.recheckAll(),
    onNotification(payload) {
      const { sender: from, hashes } = decodeNotification(payload)
      if (from !== sender) waiters.notify(hashes)
    },
  })
  const db = await openDatabase(
    defined({
      pool,
      schema,
      patience,
      statementTimeout,
      closed,
      prepare,
      queryHeld: listener.query,
      startPatience: options.startPatience ?? options.patience,
      logger: options.logger,
    }),
  )
  const copy = options.read && createCopy(db, options.read, { ...options, schema, patience, statementTimeout, closed })
  const engine = createEngine(db, { pool, schema, channel, patience, prepare })
  const { log, waiters, recentEvents } = createServerLog(engine, {
    agent: options.agent,
    patience,
    sender,
    interval: () => (listener.isListening ? pollInterval.listening : pollInterval.deaf),
    startListening: listener.start,
    notifyReplicas: createNotifyReplicas(db, channel, sender),
    onClose: () => closing.abort(),
    onSeen: copy?.replica.saw,
  })
  if (!copy) return log
  const { replica, reads, operator } = copy
  return {
    ...log,
    replica: createReplicaReads(replica, log, reads, recentEvents.readAfter),
    operator: readOperatorReplica(replica, log.operator, operator),
  }
}

/** The part of a log that can be read from a standby. */
function createCopy(
  primary: Database,
  pool: PostgresPool,
  {
    maxLag = 1_000,
    ...options
  }: Pick<PostgresLogOptions, 'maxLag' | 'logger' | 'prepare'> & Omit<DatabaseOptions, 'pool'>,
) {
  ignoreConnectionErrors(pool)
  const db = createPostgresDatabase({ ...options, pool, subject: 'The read replica' })
  return {
    replica: createReplica({ primary, replica: db, maxLag }),
    reads: createReadEngine(db),
    operator: createPostgresOperatorLog(db, (run) => run()),
  }
}

/** The statements that read tasks. */
function createReadEngine(db: Database): Pick<LogEngine, 'events' | 'snapshots' | 'findHead' | 'listHeads'> {
  return {
    events: createEvents(db),
    snapshots: createSnapshots(db),
    findHead: createFindHead(db, headSyntax(db)),
    listHeads: createListHeads(db, headSyntax(db)),
  }
}

function poolOf({ pool, pools = [], logger }: PostgresLogOptions): PostgresPool {
  if (pool && pools.length > 0) throw new TypeError('createPostgresLog: expected pool or pools, got both.')
  if (pool) return pool
  return createFailoverPool(defined({ pools, logger }))
}

interface EngineOptions {
  readonly pool: PostgresPool
  readonly schema: string
  readonly channel: string
  readonly patience: number
  readonly prepare: boolean | undefined
}

function createEngine(db: Database, { pool, schema, channel, patience, prepare }: EngineOptions): LogEngine {
  const reserve = db.prepare<{ readonly name: string }, { readonly agent: string }>(
    ({ agent }) => `
    INSERT INTO ${db.name('log_agent')} AS reserved (name) VALUES (${agent})
    ON CONFLICT (id) DO UPDATE SET name = reserved.name RETURNING name`,
  )
  return {
    db,
    subject: subjectIn(schema),
    ownPlace: 'its own schema',
    createAll: createCreateAll(db, channel),
    appendAll: createAppendAll(db, channel),
    appendByWriter: createAppendByWriter(db, channel),
    ...createReadEngine(db),
    findGenerations: createFindGenerations(db),
    findClaim: createFindClaim(db),
    leases: createLeases(db),
    retention: createRetention(db),
    reserve: async (agent) => decodeText((await reserve({ agent: encodeText(agent) }))[0]?.name ?? ''),
    check: db.prepare(() => `UPDATE ${db.name('format')} SET format = format`),
    webhooks: (query) => createPostgresPushStore(db, query),
    operator: (query) => createPostgresOperatorLog(db, query),
    admin: createPostgresAdmin(defined({ pool, schema, patience, prepare })),
  }
}
