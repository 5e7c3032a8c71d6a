import { type Clock, systemClock } from '../../base/clock.ts'
import type { PushStore } from '../../push/store.ts'
import { createWakeups } from '../../tasks/follow.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { type EventBatch, encodeBatch } from '../event-rows.ts'
import { createRecentEvents } from '../recent-events.ts'
import { explainTrouble, nodeDriver, type SqliteDriver } from './connection.ts'
import { createCrossProcessWakeups } from './cross-process.ts'
import { createClaims, createEvents } from './events.ts'
import { createGroupCommit, createWalSync } from './group-commit.ts'
import { createHeads, createLeases, createListing } from './heads.ts'
import { createSqlitePushStore } from './push-store.ts'
import { createRetention } from './retention.ts'
import { openDatabase } from './schema.ts'
import { createSnapshots } from './snapshots.ts'

export interface SqliteLogOptions {
  /** Where it lies; made with its directory if it is not there. Several processes of one machine may share it. */
  readonly file: string
  /** Opens the file; the SQLite of Node unless given. */
  readonly driver?: SqliteDriver
  /** For tests: leases and retention go by it, also those of webhooks. */
  readonly clock?: Clock
}

/** A log that also keeps the webhooks of its tasks. */
export interface SqliteLog extends TaskLog {
  readonly webhooks: PushStore
}

/** The log in one file: what it has answered survives a crash. */
export function createSqliteLog({ file, driver = nodeDriver, clock = systemClock }: SqliteLogOptions): SqliteLog {
  const db = explained(() => openDatabase(file, driver))
  const disk = createWalSync(db, file)
  const commit = createGroupCommit(db, disk)
  const claims = createClaims(db)
  const heads = createHeads(db)
  const leases = createLeases(db, clock.now)
  const events = createEvents(db, claims, leases, clock.now)
  const snapshots = createSnapshots(db)
  const listing = createListing(db)
  const retention = createRetention(db)
  const tails = createRecentEvents()
  const wakeups = createWakeups()
  const neighbours = createCrossProcessWakeups(db, wakeups, disk)
  let closing: Promise<void> | undefined

  function explained<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw explainTrouble(error, file)
    }
  }

  function mustBeOpen() {
    if (closing) throw new Error(`The task log ${file} is closed.`)
  }

  /** Nothing is told that is not on disk. */
  async function look<T>(read: () => T): Promise<T> {
    mustBeOpen()
    const found = explained(read)
    const safe = commit.onDisk()
    if (safe) await safe
    return found
  }

  async function write<T>(work: () => T): Promise<T> {
    mustBeOpen()
    try {
      return await commit.write(work)
    } catch (error) {
      throw explainTrouble(error, file)
    }
  }

  function tell(taskId: string, generation: number, batch: EventBatch) {
    tails.keep(taskId, generation - batch.events.length, batch)
    wakeups.wake(taskId)
  }

  function dropTails(taskIds: readonly string[]): number {
    for (const taskId of taskIds) tails.drop(taskId)
    return taskIds.length
  }

  async function finish(): Promise<void> {
    neighbours.stop()
    try {
      await commit.write(() => {}) // the last of what is queued
      db.exec('PRAGMA wal_checkpoint')
    } catch (error) {
      throw explainTrouble(error, file)
    } finally {
      disk?.close()
      db.close()
      wakeups.wakeAll()
    }
  }

  return {
    webhooks: createSqlitePushStore(db, { look, write }, clock.now),

    async create(task, given, options) {
      const batch = encodeBatch(given)
      const created = await write(() => events.create(task, batch, options))
      if (created.type === 'exists') throw new Error(`task ${task.taskId} exists already`)
      if (created.type === 'stored') tell(task.taskId, created.generation, batch)
      return created
    },

    async append(taskId, after, given, options) {
      const batch = encodeBatch(given)
      const appended = await write(() => events.append(taskId, after, batch, options))
      if (appended.type === 'stored') tell(taskId, appended.generation, batch)
      return appended
    },

    head: (taskId, scope) => look(() => heads.head(taskId, scope)),

    async read(taskId, after) {
      mustBeOpen()
      const kept = tails.beyond(taskId, after)
      return kept.length > 0 ? kept : await look(() => events.read(taskId, after))
    },

    async wait(taskId, after, signal) {
      mustBeOpen()
      const isThere = explained(() => {
        neighbours.watch() // first, so that nothing falls between the look and the watch
        return heads.isBeyond(taskId, after)
      })
      if (!isThere) await wakeups.wait(taskId, signal)
    },

    snapshot: (taskId) => look(() => snapshots.newest(taskId)),

    async keepSnapshot(snapshot) {
      const text = JSON.stringify(snapshot)
      await write(() => snapshots.keep(snapshot.taskId, snapshot.generation, text))
    },

    list: (query) => look(() => listing(query)),
    claimed: (owner, key) => look(() => claims.find(owner, key)),
    acquire: (taskId, lease) => write(() => leases.acquire(taskId, lease)),
    renew: (held, ttl) => write(() => leases.renew(held, ttl)),
    release: (taskId, fence, after, wakeAt) => write(() => leases.release(taskId, fence, after, wakeAt)),
    orphans: (limit) => look(() => leases.orphans(limit)),
    expire: async (endedBefore, limit, phases) =>
      dropTails(await write(() => retention.expire(endedBefore, limit, phases))),
    forget: async (endedBefore, limit) => dropTails(await write(() => retention.forget(endedBefore, limit))),

    async erase(whose, limit) {
      const erased = await write(() => retention.erase(whose, limit))
      for (const { taskId } of erased) {
        tails.drop(taskId)
        wakeups.wake(taskId)
      }
      return erased
    },

    close() {
      closing ??= finish()
      return closing
    },
  }
}
