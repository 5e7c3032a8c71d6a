import type { StoredEvent } from '../../protocol/events.ts'
import type { PushStore } from '../../push/store.ts'
import type { Appended, Created, TaskLog } from '../../tasks/log.ts'
import { type EventBatch, encodeSingly } from '../event-rows.ts'
import { createRecentEvents } from '../recent-events.ts'
import { type Append, createAppendAll } from './append.ts'
import { createAppendByWriter, isPlain } from './append-fast-path.ts'
import type { PostgresPool } from './connection.ts'
import { type Create, createCreateAll, createFindClaim, type Exists } from './create.ts'
import { createEvents, createSnapshots } from './events.ts'
import { createFindHead, createListing } from './heads.ts'
import { createLeases } from './leases.ts'
import { createListener } from './listener.ts'
import { createPostgresPushStore } from './push-store.ts'
import { createRetention } from './retention.ts'
import { openDatabase } from './schema.ts'
import { createNotify, createReads, createWaiters, decodeNotice, encodeNotice, hashOf } from './waiters.ts'
import { createWriteBatcher, newToken, type Write } from './write-batches.ts'

export interface PostgresLogOptions {
  /** A `Pool` of the package `pg`. One of its connections is kept for listening; ending it is up to its maker. */
  readonly pool: PostgresPool
  /** The schema with the tables; made if it is not there. Logs of different schemas have nothing in common. */
  readonly schema?: string
  /** How long to wait for the database to come back before an operation fails, in milliseconds. */
  readonly patience?: number
  /** How long one statement may take before its connection is given up, in milliseconds. */
  readonly statementTimeout?: number
  /** How often to look for what was not notified, in milliseconds, while notifications come and while they do not. */
  readonly pollInterval?: { readonly listening: number; readonly deaf: number }
}

/** A log that also keeps the webhooks of its tasks. */
export interface PostgresLog extends TaskLog {
  readonly webhooks: PushStore
}

/** The log in PostgreSQL, from version 13 on: any number of processes share it, on any number of machines. */
export async function createPostgresLog(options: PostgresLogOptions): Promise<PostgresLog> {
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
    onListening: () => watch.doubt(),
    onNotice(told) {
      const { sender: from, hashes } = decodeNotice(told)
      if (from !== sender) watch.notice(hashes)
    },
  })
  const db = await openDatabase({ pool, schema, patience, statementTimeout, closed, nearby: listener.ask })

  const notice = (writes: readonly Write[]) =>
    encodeNotice(
      sender,
      writes.map(({ taskId }) => taskId),
    )
  const moveOnAll = createAppendByWriter(db, channel)
  const [appendAll, createAll] = [createAppendAll(db, channel), createCreateAll(db, channel)]
  const findClaim = createFindClaim(db)
  const findHead = createFindHead(db)
  const events = createEvents(db)
  const leases = createLeases(db)
  const listing = createListing(db)
  const retention = createRetention(db)
  const snapshots = createSnapshots(db)
  const notify = createNotify(db, channel, sender)
  const tails = createRecentEvents()
  const watch = createWaiters({
    db,
    patience,
    interval: () => (listener.isListening ? pollInterval.listening : pollInterval.deaf),
    // Those who wait for it are about to read it: by the time they come, the answer is under way.
    onAwaited: (taskId, after) => void read(taskId, after).catch(() => {}),
  })
  const reads = createReads(db, events, watch)

  const isStored = ({ type }: Appended | Created | Exists) => type === 'stored'
  const shared = { patience, schema, closed }
  const moves = createWriteBatcher<Append, boolean>({
    ...shared,
    isStored: Boolean,
    send: (writes) => moveOnAll(writes, notice(writes)),
    find: (write) => db.patiently(async () => (await events.find(write)) !== undefined),
  })
  const appends = createWriteBatcher<Append, Appended>({
    ...shared,
    isStored,
    send: (writes) => appendAll(writes, notice(writes)),
    find: (write) => db.patiently(() => findAppended(write)),
  })
  const creates = createWriteBatcher<Create, Created | Exists>({
    ...shared,
    isStored,
    send: (writes) => createAll(writes, notice(writes)),
    find: (write) => db.patiently(() => findCreated(write)),
  })

  async function append(write: Append): Promise<Appended> {
    const isMoved = isPlain(write) && (await moves.write(write))
    if (!isMoved) return await appends.write(write)
    return { type: 'stored', generation: write.after + write.batch.events.length, lease: undefined }
  }

  async function findAppended(write: Append): Promise<Appended | undefined> {
    const found = await events.find(write)
    if (!found) return undefined
    const taken = write.lease && found.fence !== null ? { fence: found.fence } : undefined
    return { type: 'stored', generation: write.after + write.batch.events.length, lease: taken }
  }

  async function findCreated(write: Create): Promise<Created | undefined> {
    const found = await events.find(write)
    return found && { type: 'stored', generation: write.batch.events.length, lease: { fence: 1 } }
  }

  let ending: Promise<void> | undefined

  function mustBeOpen() {
    if (ending) throw new Error(`The task log in schema ${schema} of PostgreSQL is closed.`)
  }

  async function look<T>(read: () => Promise<T>): Promise<T> {
    mustBeOpen()
    return await db.patiently(read)
  }

  async function read(taskId: string, after: number): Promise<readonly StoredEvent[]> {
    const kept = tails.beyond(taskId, after)
    return kept.length > 0 ? kept : await reads(taskId, after)
  }

  /** Only what is committed is told. */
  function tell(taskId: string, moment: number, generation: number, batch: EventBatch) {
    tails.keep(taskId, generation - batch.events.length, batch)
    watch.learn(taskId, moment, generation)
  }

  function dropTails(taskIds: readonly string[]): number {
    for (const taskId of taskIds) tails.drop(taskId)
    return taskIds.length
  }

  async function finish(): Promise<void> {
    await Promise.all([moves.settled(), creates.settled()])
    await appends.settled() // also what the others could not do
    closing.abort()
    watch.stop()
  }

  return {
    webhooks: createPostgresPushStore(db, look),

    async create(task, given, options) {
      mustBeOpen()
      const { taskId } = task
      const batch = encodeSingly(given)
      const moment = watch.begin(taskId)
      const created = await creates.write({ taskId, task, after: 0, batch, ...options, token: newToken() })
      if (created.type === 'exists') throw new Error(`task ${taskId} exists already`)
      if (created.type === 'stored') tell(taskId, moment, created.generation, batch)
      return created
    },

    async append(taskId, after, given, options) {
      mustBeOpen()
      const batch = encodeSingly(given)
      const moment = watch.begin(taskId)
      const appended = await append({ taskId, after, batch, ...options, token: newToken() })
      if (appended.type === 'stored') tell(taskId, moment, appended.generation, batch)
      return appended
    },

    head: (taskId, scope) => look(() => findHead(taskId, scope)),

    async read(taskId, after) {
      mustBeOpen()
      return await read(taskId, after)
    },

    async wait(taskId, after, signal) {
      mustBeOpen()
      listener.start()
      await watch.wait(taskId, after, signal)
    },

    snapshot: (taskId) => look(() => snapshots.newest(taskId)),
    keepSnapshot: (snapshot) => look(() => snapshots.keep(snapshot)),
    list: (query) => look(() => listing(query)),
    claimed: (owner, key) => look(() => findClaim(owner, key)),
    acquire: (taskId, lease) => look(() => leases.acquire(taskId, lease)),
    renew: (held, ttl) => look(() => leases.renew(held, ttl)),
    release: (taskId, fence, after, wakeAt) => look(() => leases.release(taskId, fence, after, wakeAt)),
    orphans: (limit) => look(() => leases.orphans(limit)),
    expire: async (endedBefore, limit, phases) =>
      dropTails(await look(() => retention.expire(endedBefore, limit, phases))),
    forget: async (endedBefore, limit) => dropTails(await look(() => retention.forget(endedBefore, limit))),

    async erase(whose, limit) {
      mustBeOpen()
      const erased = await retention.erase(whose, limit)
      const taskIds = erased.map(({ taskId }) => taskId)
      dropTails(taskIds)
      watch.notice(taskIds.map(hashOf))
      await notify(taskIds).catch(() => {}) // Those who follow them look for themselves, a little later.
      return erased
    },

    close() {
      ending ??= finish()
      return ending
    },
  }
}
