import type { Logger } from '../../core/base/logger.ts'
import { checkOptions, group, loggerCheck, milliseconds, type OptionChecks, text } from '../../core/base/options.ts'
import { StoreUnavailable } from '../../core/protocol/errors.ts'
import type { StoredEvent } from '../../core/protocol/events.ts'
import type { PushStore } from '../../core/push/store.ts'
import { type Appended, type Created, ForeignLog, type TaskLog } from '../../core/tasks/log.ts'
import type { OperatorLog } from '../../core/tasks/operator-log.ts'
import { createRecentEvents, type EventBatch, encodeRowPerEvent, type RecentEvents } from '../shared/event-batches.ts'
import type { LogAdmin } from '../shared/log-admin.ts'
import { createPostgresAdmin } from './admin.ts'
import { type Append, createAppendAll } from './append.ts'
import { createAppendByWriter, isWriterAppend } from './append-fast-path.ts'
import { type Database, type PostgresPool, poolCheck } from './connection.ts'
import { type Create, createCreateAll, createFindClaim, type TaskExists } from './create.ts'
import { createEvents, createSnapshots, type Events } from './events.ts'
import { createFindHead, createListHeads } from './heads.ts'
import { createLeases } from './leases.ts'
import { createListener } from './listener.ts'
import { createPostgresOperatorLog } from './operator/operator-log.ts'
import { createPostgresPushStore } from './push-store.ts'
import { createRetention } from './retention.ts'
import { openDatabase } from './schema.ts'
import { decodeText, encodeText } from './sql-text.ts'
import {
  createNotifyReplicas,
  createSharedReads,
  createWaiters,
  decodeNotification,
  encodeNotification,
  hashOf,
  type Waiters,
} from './waiters.ts'
import { createWriteBatcher, newToken, type Write } from './write-batches.ts'

/** Options of `createPostgresLog`. */
export interface PostgresLogOptions {
  /** A `Pool` of the package `pg`. The log keeps one of its connections for notifications, and does not end the pool. */
  readonly pool: PostgresPool
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
  /** Polling interval with and without a connection for notifications, in milliseconds. Defaults to 1 second and 100 ms. */
  readonly pollInterval?: { readonly listening: number; readonly deaf: number }
  /** Receives warnings about an unreachable database. Defaults to the console. */
  readonly logger?: Logger
}

const optionChecks: OptionChecks<PostgresLogOptions> = {
  pool: poolCheck,
  schema: text,
  agent: text,
  patience: milliseconds(),
  startPatience: milliseconds(),
  statementTimeout: milliseconds({ min: 1, infinite: false }),
  pollInterval: group<NonNullable<PostgresLogOptions['pollInterval']>>({
    listening: milliseconds({ min: 1 }),
    deaf: milliseconds({ min: 1 }),
  }),
  logger: loggerCheck,
}

/** A log that also stores the webhooks of its tasks, and can be inspected while it is in use. */
export interface PostgresLog extends TaskLog, Pick<LogAdmin, 'stats' | 'checkIntegrity'> {
  readonly webhooks: PushStore
  readonly operator: OperatorLog
}

/**
 * Creates a task log in PostgreSQL 13 or newer. Any number of processes on any number of machines may share it.
 * @example await serve(echo, { log: await createPostgresLog({ pool: new Pool() }) })
 */
export async function createPostgresLog(options: PostgresLogOptions): Promise<PostgresLog> {
  checkOptions('createPostgresLog', options, optionChecks, ['pool'])
  const { pool, schema = 'parley', patience = 15_000, statementTimeout = 10_000 } = options
  const { pollInterval = { listening: 1_000, deaf: 100 } } = options
  const closing = new AbortController()
  const { signal: closed } = closing
  const sender = crypto.randomUUID().slice(0, 8)
  const channel = `parley ${schema}`
  const listener = createListener({
    pool,
    channel,
    statementTimeout,
    closed,
    onListening: () => waiters.recheckAll(),
    onNotification(payload) {
      const { sender: from, hashes } = decodeNotification(payload)
      if (from !== sender) waiters.notify(hashes)
    },
  })
  const db = await openDatabase({
    ...{ pool, schema, patience, statementTimeout, closed, queryHeld: listener.query },
    startPatience: options.startPatience ?? options.patience,
    ...(options.logger && { logger: options.logger }),
  })

  const events = createEvents(db)
  const writes = createWrites(db, events, { channel, sender, patience, schema })
  const reservation = createReservation(db, schema)
  // Shows whether the database can be written, without changing it.
  const rewriteFormat = db.prepare(() => `UPDATE ${db.name('format')} SET format = format`)
  const notifyReplicas = createNotifyReplicas(db, channel, sender)
  const recentEvents = createRecentEvents()
  const waiters = createWaiters({
    db,
    patience,
    interval: () => (listener.isListening ? pollInterval.listening : pollInterval.deaf),
    // Woken readers read next: the shared query is already running by then.
    onAwaited: (taskId, after) => void read(taskId, after).catch(() => {}),
  })
  const readShared = createSharedReads(db, events, waiters)
  const admin = createPostgresAdmin({ pool, schema, patience })
  let ending: Promise<void> | undefined
  const access = createAccess(db, schema, { isClosed: () => ending !== undefined, pending: reservation.pending })
  const { requireOpen, requireReserved, whileOpen, query } = access

  async function read(taskId: string, after: number): Promise<readonly StoredEvent[]> {
    const recent = recentEvents.readAfter(taskId, after)
    return recent.length > 0 ? recent : await readShared(taskId, after)
  }

  /** Called after the commit. */
  function publish(taskId: string, queriedAt: number, generation: number, batch: EventBatch) {
    recentEvents.add(taskId, generation - batch.events.length, batch)
    waiters.update(taskId, queriedAt, generation)
  }

  async function close(): Promise<void> {
    await writes.idle()
    closing.abort()
    waiters.stop()
  }

  return {
    webhooks: createPostgresPushStore(db, query),
    operator: createPostgresOperatorLog(db, query),

    reserveFor: (agent) => reservation.reserveFor(options.agent ?? agent),
    ...createQueries(db, query),
    ...createRemoval(db, { query, requireOpen, recentEvents, waiters, notifyReplicas }),

    async create(task, taskEvents, createOptions) {
      const pending = requireReserved()
      if (pending) await pending
      db.requireReachable()
      const { taskId } = task
      const batch = encodeRowPerEvent(taskEvents)
      const queriedAt = waiters.beginRead(taskId)
      const created = await writes.create({ taskId, task, after: 0, batch, ...createOptions, token: newToken() })
      if (created.type === 'exists') throw new Error(`task ${taskId} exists already`)
      if (created.type === 'stored') publish(taskId, queriedAt, created.generation, batch)
      return created
    },

    async append(taskId, after, taskEvents, appendOptions) {
      const pending = requireReserved()
      if (pending) await pending
      const batch = encodeRowPerEvent(taskEvents)
      const queriedAt = waiters.beginRead(taskId)
      const appended = await writes.append({ taskId, after, batch, ...appendOptions, token: newToken() })
      if (appended.type === 'stored') publish(taskId, queriedAt, appended.generation, batch)
      return appended
    },

    async read(taskId, after) {
      requireOpen()
      return await read(taskId, after)
    },

    async wait(taskId, after, signal) {
      requireOpen()
      listener.start()
      await waiters.wait(taskId, after, signal)
    },

    check: async () => void (await query(() => rewriteFormat())),

    whenLost: db.outages.whenLost,

    stats: whileOpen(admin.stats),
    checkIntegrity: whileOpen(admin.checkIntegrity),

    close() {
      ending ??= close()
      return ending
    },
  }
}

interface AccessOptions {
  readonly isClosed: () => boolean
  /** Set while the owner of the schema is unknown. */
  readonly pending: () => Promise<void> | undefined
}

/** Access to the database while the log is open. */
function createAccess(db: Database, schema: string, { isClosed, pending }: AccessOptions) {
  function requireOpen(): void {
    if (isClosed()) throw new Error(`The task log in schema ${schema} of PostgreSQL is closed.`)
  }

  /** Undefined if the owner of the schema is known, as it almost always is: then nothing is awaited. */
  function requireReserved(): Promise<void> | undefined {
    requireOpen()
    return pending()
  }

  return {
    requireOpen,
    requireReserved,
    whileOpen<T>(work: () => Promise<T>): () => Promise<T> {
      return async () => {
        requireOpen()
        return await work()
      }
    },
    async query<T>(run: () => Promise<T>): Promise<T> {
      const reserving = requireReserved()
      if (reserving) await reserving
      return await db.withRetry(run)
    },
  }
}

/** The operations that are one statement each. */
function createQueries(
  db: Database,
  query: <T>(run: () => Promise<T>) => Promise<T>,
): Pick<
  TaskLog,
  'head' | 'snapshot' | 'keepSnapshot' | 'list' | 'claimed' | 'acquire' | 'renew' | 'release' | 'orphans'
> {
  const [findHead, listHeads, findClaim] = [createFindHead(db), createListHeads(db), createFindClaim(db)]
  const snapshots = createSnapshots(db)
  const leases = createLeases(db)
  /** For the first query of a call: its caller gets the error at once during a long outage. */
  const queryFirst: typeof query = async (run) => {
    db.requireReachable()
    return await query(run)
  }
  return {
    head: (taskId, scope) => queryFirst(() => findHead(taskId, scope)),
    snapshot: (taskId) => query(() => snapshots.newest(taskId)),
    keepSnapshot: (snapshot) => query(() => snapshots.keep(snapshot)),
    list: (listQuery) => queryFirst(() => listHeads(listQuery)),
    claimed: (owner, key) => query(() => findClaim(owner, key)),
    acquire: (taskId, lease) => query(() => leases.acquire(taskId, lease)),
    renew: (held, ttl) => query(() => leases.renew(held, ttl)),
    release: (taskId, fence, after, wakeAt) => query(() => leases.release(taskId, fence, after, wakeAt)),
    orphans: (limit, ttl) => query(() => leases.orphans(limit, ttl)),
  }
}

interface RemovalOptions extends Pick<ReturnType<typeof createAccess>, 'query' | 'requireOpen'> {
  readonly recentEvents: Pick<RecentEvents, 'drop'>
  readonly waiters: Pick<Waiters, 'notify'>
  readonly notifyReplicas: (taskIds: readonly string[]) => Promise<void>
}

/** The operations that remove events or tasks, from the database and from memory. */
function createRemoval(
  db: Database,
  { query, requireOpen, recentEvents, waiters, notifyReplicas }: RemovalOptions,
): Pick<TaskLog, 'expire' | 'forget' | 'erase'> {
  const retention = createRetention(db)

  function dropRecent(taskIds: readonly string[]): number {
    for (const taskId of taskIds) recentEvents.drop(taskId)
    return taskIds.length
  }

  return {
    expire: async (endedBefore, limit, phases) =>
      dropRecent(await query(() => retention.expire(endedBefore, limit, phases))),
    forget: async (endedBefore, limit) => dropRecent(await query(() => retention.forget(endedBefore, limit))),
    async erase(selection, limit) {
      requireOpen()
      const erased = await retention.erase(selection, limit)
      const taskIds = erased.map(({ taskId }) => taskId)
      dropRecent(taskIds)
      waiters.notify(taskIds.map(hashOf))
      await notifyReplicas(taskIds).catch(() => {}) // readers on other replicas then poll, a little later
      return erased
    },
  }
}

interface WritesOptions {
  readonly channel: string
  readonly sender: string
  readonly patience: number
  readonly schema: string
}

/** Writes in batches: those of a task's writer take a shorter way, and fall back to the general one. */
function createWrites(db: Database, events: Events, { channel, sender, patience, schema }: WritesOptions) {
  const appendByWriter = createAppendByWriter(db, channel)
  const [appendAll, createAll] = [createAppendAll(db, channel), createCreateAll(db, channel)]
  const isStored = ({ type }: Appended | Created | TaskExists) => type === 'stored'
  const shared = { patience, schema, closed: db.closed }
  const notificationOf = (writes: readonly Write[]) => {
    const taskIds = writes.map(({ taskId }) => taskId)
    return encodeNotification(sender, taskIds)
  }
  const writerAppends = createWriteBatcher<Append, boolean>({
    ...shared,
    isStored: Boolean,
    send: (writes) => appendByWriter(writes, notificationOf(writes)),
    find: (write) => db.withRetry(async () => (await events.find(write)) !== undefined),
  })
  const appends = createWriteBatcher<Append, Appended>({
    ...shared,
    isStored,
    send: (writes) => appendAll(writes, notificationOf(writes)),
    find: (write) => db.withRetry(() => findAppended(write)),
  })
  const creates = createWriteBatcher<Create, Created | TaskExists>({
    ...shared,
    isStored,
    send: (writes) => createAll(writes, notificationOf(writes)),
    find: (write) => db.withRetry(() => findCreated(write)),
  })

  async function findAppended(write: Append): Promise<Appended | undefined> {
    const stored = await events.find(write)
    if (!stored) return undefined
    const { fence, isTakenOver } = stored
    const lease = write.lease && fence !== null ? { fence, ...(isTakenOver && { isTakenOver }) } : undefined
    return { type: 'stored', generation: write.after + write.batch.events.length, lease }
  }

  async function findCreated(write: Create): Promise<Created | undefined> {
    const stored = await events.find(write)
    return stored && { type: 'stored', generation: write.batch.events.length, lease: { fence: 1 } }
  }

  return {
    create: creates.write,
    async append(write: Append): Promise<Appended> {
      const isAppended = isWriterAppend(write) && (await writerAppends.write(write))
      if (!isAppended) return await appends.write(write)
      return { type: 'stored', generation: write.after + write.batch.events.length, lease: undefined }
    },
    async idle(): Promise<void> {
      await Promise.all([writerAppends.idle(), creates.idle()])
      await appends.idle() // after `writerAppends`, whose refused writes go here
    },
  }
}

/** Reserves a schema for one agent. */
function createReservation(db: Database, schema: string) {
  const reserve = db.prepare<{ readonly name: string }, { readonly agent: string }>(
    ({ agent }) => `
    INSERT INTO ${db.name('log_agent')} AS reserved (name) VALUES (${agent})
    ON CONFLICT (id) DO UPDATE SET name = reserved.name RETURNING name`,
  )
  let reserving: Promise<void> | undefined

  async function requireOwn(agent: string): Promise<void> {
    const [row] = await db.withRetry(() => reserve({ agent: encodeText(agent) }))
    const owner = decodeText(row?.name ?? '')
    const store = `The task log in schema ${schema} of PostgreSQL`
    if (owner !== agent) throw new ForeignLog(store, 'its own schema', { agent, owner })
  }

  return {
    /** Set while the owner of the schema is unknown. Rejects if it is another agent. */
    pending: () => reserving,
    reserveFor(agent: string): Promise<void> {
      const reserved = requireOwn(agent)
      reserving = reserved.then(
        () => {
          reserving = undefined
        },
        (error) => {
          if (error instanceof ForeignLog) throw new StoreUnavailable(error)
          reserving = undefined
        },
      )
      reserving.catch(() => {}) // every operation reports it
      return reserved
    },
  }
}
