import { defined } from '../../core/base/json.ts'
import { StoreUnavailable } from '../../core/protocol/errors.ts'
import type { StoredEvent } from '../../core/protocol/events.ts'
import type { PushStore } from '../../core/push/store.ts'
import { type Appended, type Created, ForeignLog, type TaskLog } from '../../core/tasks/log.ts'
import type { OperatorLog } from '../../core/tasks/operator-log.ts'
import { createRecentEvents, type EventBatch, encodeRowPerEvent, type RecentEvents } from './event-batches.ts'
import type { LogAdmin } from './log-admin.ts'
import type { Append, Create, LogEngine, RunWork, TaskExists } from './log-engine.ts'
import { createSharedReads, createWaiters, encodeNotification, hashOf, type Waiters } from './waiters.ts'
import { createWriteBatcher, newToken, type Write } from './write-batches.ts'

/** A log that also stores the webhooks of its tasks, and can be inspected while it is in use. */
export interface ServerLog extends TaskLog, Pick<LogAdmin, 'stats' | 'checkIntegrity'> {
  readonly webhooks: PushStore
  readonly operator: OperatorLog
}

export interface ServerLogOptions {
  /** The agent to reserve the log for, instead of the one that uses it. */
  readonly agent?: string | undefined
  readonly patience: number
  /** Names this process in notifications. */
  readonly sender: string
  /** Current polling interval of waiting readers, in milliseconds. */
  readonly interval: () => number
  /** Called when a reader begins to wait. */
  readonly startListening?: () => void
  /** Notifies the other replicas of tasks that changed without an append. */
  readonly notifyReplicas?: (taskIds: readonly string[]) => Promise<void>
  readonly onClose: () => void
  /** Called when this process has stored or read a generation of a task, with `Infinity` when it has removed the task. */
  readonly onSeen?: ((taskId: string, generation: number) => void) | undefined
}

/** A log in a database on a server, with the waiters that its notifications wake, and the events that it has in memory. */
export function createServerLog(
  engine: LogEngine,
  options: ServerLogOptions,
): { log: ServerLog; waiters: Waiters; recentEvents: Pick<RecentEvents, 'readAfter'> } {
  const { db, events, findGenerations } = engine
  const { patience, interval, startListening, notifyReplicas, onSeen } = options
  const writes = createWrites(engine, options)
  const reservation = createReservation(engine)
  const recentEvents = createRecentEvents()
  const waiters = createWaiters({
    db,
    findGenerations,
    patience,
    interval,
    // Woken readers read next: the shared query is already running by then.
    onAwaited: (taskId, after) => void read(taskId, after).catch(() => {}),
  })
  const readShared = createSharedReads(db, events, waiters)
  let ending: Promise<void> | undefined
  const access = createAccess(engine, { isClosed: () => ending !== undefined, pending: reservation.pending })
  const { requireOpen, requireReserved, whileOpen, query } = access

  async function read(taskId: string, after: number): Promise<readonly StoredEvent[]> {
    const recent = recentEvents.readAfter(taskId, after)
    const page = recent.length > 0 ? recent : await readShared(taskId, after)
    const last = onSeen && page.at(-1)
    if (last) onSeen(taskId, last.generation)
    return page
  }

  /** Called after the commit. */
  function publish(taskId: string, queriedAt: number, generation: number, batch: EventBatch) {
    recentEvents.add(taskId, generation - batch.events.length, batch)
    waiters.update(taskId, queriedAt, generation)
    onSeen?.(taskId, generation)
  }

  async function close(): Promise<void> {
    await writes.idle()
    options.onClose()
    waiters.stop()
  }

  const log: ServerLog = {
    webhooks: engine.webhooks(query),
    operator: engine.operator(query),

    reserveFor: (agent) => reservation.reserveFor(options.agent ?? agent),
    ...createQueries(engine, query, onSeen),
    ...createRemoval(engine, { query, requireOpen, recentEvents, waiters, notifyReplicas, onSeen }),

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
      startListening?.()
      await waiters.wait(taskId, after, signal)
    },

    check: async () => void (await query(() => engine.check())),

    whenLost: db.outages.whenLost,

    stats: whileOpen(engine.admin.stats),
    checkIntegrity: whileOpen(engine.admin.checkIntegrity),

    close() {
      ending ??= close()
      return ending
    },
  }

  return { log, waiters, recentEvents }
}

interface AccessOptions {
  readonly isClosed: () => boolean
  /** Set while the owner of the log is unknown. */
  readonly pending: () => Promise<void> | undefined
}

/** Access to the database while the log is open. */
function createAccess({ db, subject }: LogEngine, { isClosed, pending }: AccessOptions) {
  function requireOpen(): void {
    if (isClosed()) throw new Error(`${subject} is closed.`)
  }

  /** Undefined if the owner of the log is known, as it almost always is: then nothing is awaited. */
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
  { db, findHead, listHeads, findClaim, snapshots, leases }: LogEngine,
  query: RunWork,
  onSeen: ServerLogOptions['onSeen'],
): Pick<
  TaskLog,
  'head' | 'snapshot' | 'keepSnapshot' | 'list' | 'claimed' | 'acquire' | 'renew' | 'release' | 'orphans'
> {
  /** For the first query of a call: its caller gets the error at once during a long outage. */
  const queryFirst: typeof query = async (run) => {
    db.requireReachable()
    return await query(run)
  }
  return {
    async head(taskId, scope) {
      const head = await queryFirst(() => findHead(taskId, scope))
      if (head) onSeen?.(taskId, head.generation)
      return head
    },
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

interface RemovalOptions
  extends Pick<ReturnType<typeof createAccess>, 'query' | 'requireOpen'>,
    Pick<ServerLogOptions, 'onSeen'> {
  readonly recentEvents: Pick<RecentEvents, 'drop'>
  readonly waiters: Pick<Waiters, 'notify'>
  readonly notifyReplicas: ServerLogOptions['notifyReplicas']
}

/** The operations that remove events or tasks, from the database and from memory. */
function createRemoval(
  { retention }: LogEngine,
  { query, requireOpen, recentEvents, waiters, notifyReplicas, onSeen }: RemovalOptions,
): Pick<TaskLog, 'expire' | 'forget' | 'erase'> {
  function dropRecent(taskIds: readonly string[]): number {
    for (const taskId of taskIds) {
      recentEvents.drop(taskId)
      onSeen?.(taskId, Number.POSITIVE_INFINITY)
    }
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
      await notifyReplicas?.(taskIds).catch(() => {}) // readers on other replicas then poll, a little later
      return erased
    },
  }
}

/** Writes in batches: those of a task's writer take a shorter way, and fall back to the general one. */
function createWrites({ db, events, createAll, appendAll, appendByWriter }: LogEngine, options: ServerLogOptions) {
  const { sender, patience } = options
  const isStored = ({ type }: Appended | Created | TaskExists) => type === 'stored'
  const shared = { patience, errors: db.errors, closed: db.closed }
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
    const lease = write.lease && fence !== null ? defined({ fence, isTakenOver: isTakenOver || undefined }) : undefined
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

/** Reserves a log for one agent. */
function createReservation({ db, subject, ownPlace, reserve }: LogEngine) {
  let reserving: Promise<void> | undefined

  async function requireOwn(agent: string): Promise<void> {
    const owner = await db.withRetry(() => reserve(agent))
    if (owner !== agent) throw new ForeignLog(subject, ownPlace, { agent, owner })
  }

  return {
    /** Set while the owner of the log is unknown. Rejects if it is another agent. */
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

/** Whether an append by the holder of the lease only stores events, without a new lease or claims. */
function isWriterAppend({ fence, lease, claims = [] }: Append): boolean {
  return fence !== undefined && !lease && claims.length === 0
}
