import type { PushStore } from '../../core/push/store.ts'
import type { Wakeups } from '../../core/tasks/follow.ts'
import type { TaskLog } from '../../core/tasks/log.ts'
import type { OperatorLog } from '../../core/tasks/operator-log.ts'
import { createRecentEvents, type EventBatch, encodeBatch, type RecentEvents } from '../shared/event-batches.ts'
import type { LogAccess, SqliteDatabase } from './connection.ts'
import { createClaims, createEvents, createSnapshots } from './events.ts'
import { createHeads, createListHeads } from './heads.ts'
import { createLeases, type Leases } from './leases.ts'
import { createSqliteOperatorLog, type SqliteOperatorLogOptions } from './operator-log.ts'
import { createSqlitePushStore } from './push-store.ts'
import { createRetention, type Retention } from './retention.ts'
import { createTaskCounts } from './task-counts.ts'

export interface LogOperationsOptions extends Omit<SqliteOperatorLogOptions, 'query' | 'write'> {
  readonly access: LogAccess
  readonly wakeups: Wakeups
  /** Called before a reader waits for new events. */
  readonly onWait?: () => void
}

/** The operations of a task log, its webhooks and what operators read, on a database with the newest schema. */
export type LogOperations = Omit<TaskLog, 'reserveFor' | 'check' | 'whenLost' | 'close'> & {
  readonly webhooks: PushStore
  readonly operator: OperatorLog
}

export function createLogOperations(db: SqliteDatabase, options: LogOperationsOptions): LogOperations {
  const { access, wakeups, onWait, ...operatorOptions } = options
  const { now, leaseTime } = options
  const { readNow, query, write } = access
  const claims = createClaims(db)
  const heads = createHeads(db)
  const leases = createLeases(db, leaseTime, now)
  const counts = createTaskCounts(db)
  const events = createEvents(db, { claims, leases, counts, now, leaseTime })
  const snapshots = createSnapshots(db)
  const listHeads = createListHeads(db)
  const recentEvents = createRecentEvents()

  function publish(taskId: string, generation: number, batch: EventBatch) {
    recentEvents.add(taskId, generation - batch.events.length, batch)
    if (wakeups.size > 0) wakeups.wake(taskId)
  }

  return {
    webhooks: createSqlitePushStore(db, access, now, leaseTime),
    operator: createSqliteOperatorLog(db, { ...operatorOptions, query, write }),

    async create(task, taskEvents, createOptions) {
      const batch = encodeBatch(taskEvents)
      const created = await write(() => events.create(task, batch, createOptions))
      if (created.type === 'exists') throw new Error(`task ${task.taskId} exists already`)
      if (created.type === 'stored') publish(task.taskId, created.generation, batch)
      return created
    },

    async append(taskId, after, taskEvents, appendOptions) {
      const batch = encodeBatch(taskEvents)
      // A turn must not fail because another process keeps the file locked. Its caller can still get an answer.
      const isPatient = appendOptions.fence !== undefined
      const appended = await write(() => events.append(taskId, after, batch, appendOptions), isPatient)
      if (appended.type === 'stored') publish(taskId, appended.generation, batch)
      return appended
    },

    head: (taskId, scope) => query(() => heads.head(taskId, scope)),

    async read(taskId, after) {
      const recent = readNow(() => recentEvents.readAfter(taskId, after))
      return recent.length > 0 ? recent : await query(() => events.read(taskId, after))
    },

    async wait(taskId, after, signal) {
      const hasEvents = readNow(() => {
        onWait?.() // before the query, so that no commit in between is missed
        return heads.hasEventsAfter(taskId, after)
      })
      if (!hasEvents) await wakeups.wait(taskId, signal)
    },

    snapshot: (taskId) => query(() => snapshots.newest(taskId)),

    async keepSnapshot(snapshot) {
      const text = JSON.stringify(snapshot)
      await write(() => snapshots.keep(snapshot.taskId, snapshot.generation, text))
    },

    list: (listQuery) => query(() => listHeads(listQuery)),
    claimed: (owner, key) => query(() => claims.find(owner, key)),
    ...leaseMethods(leases, access),
    ...removalMethods(createRetention(db, counts, now), { write, recentEvents, onErased: wakeups.wake }),
  }
}

function leaseMethods(
  leases: Leases,
  { query, write }: LogAccess,
): Pick<TaskLog, 'acquire' | 'renew' | 'release' | 'orphans'> {
  return {
    acquire: (taskId, lease) => write(() => leases.acquire(taskId, lease)),
    renew: (held, ttl) => write(() => leases.renew(held, ttl)),
    release: (taskId, fence, after, wakeAt) => write(() => leases.release(taskId, fence, after, wakeAt), true),
    async orphans(limit, ttl) {
      if (ttl !== undefined && (await query(() => leases.hasTooLong(ttl)))) await write(() => leases.shorten(ttl))
      return await query(() => leases.orphans(limit))
    },
  }
}

interface RemovalOptions extends Pick<LogAccess, 'write'> {
  readonly recentEvents: Pick<RecentEvents, 'drop'>
  readonly onErased: (taskId: string) => void
}

function removalMethods(
  retention: Retention,
  { write, recentEvents, onErased }: RemovalOptions,
): Pick<TaskLog, 'expire' | 'forget' | 'erase'> {
  function dropRecent(taskIds: readonly string[]): number {
    for (const taskId of taskIds) recentEvents.drop(taskId)
    return taskIds.length
  }
  return {
    expire: async (endedBefore, limit, phases) =>
      dropRecent(await write(() => retention.expire(endedBefore, limit, phases))),
    forget: async (endedBefore, limit) => dropRecent(await write(() => retention.forget(endedBefore, limit))),
    async erase(selection, limit) {
      const erased = await write(() => retention.erase(selection, limit))
      for (const { taskId } of erased) {
        recentEvents.drop(taskId)
        onErased(taskId)
      }
      return erased
    },
  }
}
