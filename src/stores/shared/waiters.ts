import type { StoredEvent } from '../../core/protocol/events.ts'
import { createWakeups } from '../../core/tasks/follow.ts'
import type { Database } from './database.ts'
import type { Events, FindGenerations } from './log-engine.ts'

/** Number of tasks to remember. A waiting reader queries the database about any other task. */
const maxTasks = 20_000

/** Number of tasks per query. */
const batchSize = 1_000

export function decodeNotification(payload: string): { readonly sender: string; readonly hashes: readonly string[] } {
  const [sender = '', ...hashes] = payload.split(' ')
  return { sender, hashes }
}

export interface WaitersOptions {
  readonly db: Pick<Database, 'closed' | 'errors'>
  /** The generations of those of the tasks that exist. */
  readonly findGenerations: FindGenerations
  /** Polling interval in milliseconds. */
  readonly interval: () => number
  /** How long polls may fail before waiting readers get an error, in milliseconds. */
  readonly patience: number
  /** Called before waiting readers of a task are woken; there may be events after this generation. */
  readonly onAwaited: (taskId: string, after: number) => void
}

/** A logical clock that advances with every notification. */
export type LogicalTime = number

/**
 * The readers that wait for tasks, and the progress of those tasks. A notification only says that there may be new
 * events; the progress itself comes from query results. A lost notification therefore only costs the time to the next
 * poll.
 */
export interface Waiters {
  /** Called before a query about a task; returns the time to pass to `update`. */
  beginRead(taskId: string): LogicalTime
  /** Records a query result: at this time or later, the task had reached this generation, or an earlier known one. */
  update(taskId: string, queriedAt: LogicalTime, generation: number): void
  /** The time of the last notification about the task. */
  lastNotified(taskId: string): LogicalTime
  wait(taskId: string, after: number, signal: AbortSignal): Promise<void>
  /** Handles a notification: these tasks may have new events. */
  notify(hashes: readonly string[]): void
  /** Makes all waiting readers check again, because notifications may have been lost. */
  recheckAll(): void
  stop(): void
}

export function createWaiters({ db, findGenerations, interval, patience, onAwaited }: WaitersOptions): Waiters {
  const wakeups = createWakeups()
  const waiting = new Map<string, number>()
  const tasks = createProgressTable((taskId) => waiting.has(taskId))
  let time: LogicalTime = 0
  let recheckedAt: LogicalTime = 0
  const isPolling = () => waiting.size > 0 && !db.closed.aborted
  const poller = createPoller(() => checkAll().catch(onPollFailed), interval, isPolling)
  let lastPoll = performance.now()
  let outage: { readonly error: unknown } | undefined

  function beginRead(taskId: string): LogicalTime {
    tasks.remember(taskId, time)
    return time
  }

  function update(taskId: string, queriedAt: LogicalTime, generation: number) {
    const progress = tasks.get(taskId)
    if (!progress) return
    progress.checkedAt = Math.max(progress.checkedAt, queriedAt)
    if (generation <= progress.generation) return
    progress.generation = generation
    wakeups.wake(taskId)
  }

  function isCurrent({ checkedAt, notifiedAt }: TaskProgress): boolean {
    return checkedAt >= notifiedAt && checkedAt >= recheckedAt
  }

  async function check(taskIds: readonly string[]): Promise<void> {
    const queriedAt = time
    for (const taskId of taskIds) beginRead(taskId)
    const generations = await findGenerations(taskIds)
    lastPoll = performance.now()
    outage = undefined
    for (const taskId of taskIds) {
      update(taskId, queriedAt, generations.get(taskId) ?? 0)
      if (!generations.has(taskId)) markMissing(taskId)
    }
  }

  /** The task was erased or does not exist yet: waiting readers check which. */
  function markMissing(taskId: string) {
    const progress = tasks.get(taskId)
    if (progress) progress.missed++
    wakeups.wake(taskId)
  }

  async function checkAll(): Promise<void> {
    const all = [...waiting.keys()]
    for (let at = 0; at < all.length; at += batchSize) await check(all.slice(at, at + batchSize))
  }

  /** The database is unreachable. After `patience`, the waiting readers fail, so that clients can try another replica. */
  function onPollFailed(error: unknown) {
    if (performance.now() - lastPoll < patience) return
    outage = { error }
    wakeups.wakeAll()
  }

  async function waitForWakeup(taskId: string, signal: AbortSignal): Promise<void> {
    if (waiting.size === 0) lastPoll = performance.now()
    waiting.set(taskId, (waiting.get(taskId) ?? 0) + 1)
    poller.start()
    try {
      await wakeups.wait(taskId, signal)
    } finally {
      const readers = (waiting.get(taskId) ?? 1) - 1
      if (readers > 0) waiting.set(taskId, readers)
      else waiting.delete(taskId)
    }
  }

  return {
    beginRead,
    update,
    lastNotified: (taskId) => tasks.get(taskId)?.notifiedAt ?? time,
    async wait(taskId, after, signal) {
      const earlierOutage = outage
      while (!signal.aborted && !db.closed.aborted) {
        const progress = tasks.get(taskId)
        if (progress && progress.generation > after) return
        if (progress && isCurrent(progress)) {
          const { notifiedAt, missed } = progress
          await waitForWakeup(taskId, signal) // called synchronously after `isCurrent`, so no wake-up is missed
          if (progress.notifiedAt > notifiedAt) return // reading costs as much as checking for events
          if (progress.missed > missed) return
        } else await check([taskId]).catch(() => waitForWakeup(taskId, signal))
        if (outage && outage !== earlierOutage) throw db.errors.explain(outage.error)
      }
    },
    notify(hashes) {
      time++
      for (const hash of hashes) {
        for (const taskId of tasks.withHash(hash)) {
          const progress = tasks.get(taskId)
          if (progress) progress.notifiedAt = time
          if (progress && waiting.has(taskId)) onAwaited(taskId, progress.generation)
          wakeups.wake(taskId)
        }
      }
    },
    recheckAll() {
      recheckedAt = ++time
      wakeups.wakeAll()
    },
    stop() {
      poller.stop()
      wakeups.wakeAll()
    },
  }
}

/** Polls while it is needed, in case notifications are lost. */
function createPoller(poll: () => Promise<void>, interval: () => number, isNeeded: () => boolean) {
  let timer: NodeJS.Timeout | undefined

  function start(): void {
    if (timer || !isNeeded()) return
    timer = setTimeout(async () => {
      await poll()
      timer = undefined
      start()
    }, interval())
    timer.unref()
  }

  return {
    start,
    stop(): void {
      clearTimeout(timer)
      timer = undefined
    },
  }
}

/** The progress of the last `maxTasks` tasks that were asked about, and of those that readers wait for. */
function createProgressTable(isAwaited: (taskId: string) => boolean) {
  const tasks = new Map<string, TaskProgress>()
  const byHash = new Map<string, Set<string>>()

  function forgetOldest(): void {
    for (const [taskId, { hash }] of tasks) {
      if (isAwaited(taskId)) continue
      tasks.delete(taskId)
      const sameHash = byHash.get(hash)
      sameHash?.delete(taskId)
      if (sameHash?.size === 0) byHash.delete(hash)
      if (tasks.size <= maxTasks) return
    }
  }

  return {
    get: (taskId: string) => tasks.get(taskId),
    withHash: (hash: string): Iterable<string> => byHash.get(hash) ?? [],
    remember(taskId: string, time: LogicalTime): void {
      const progress = tasks.get(taskId)
      if (progress) {
        tasks.delete(taskId) // moves it to the end, as the first is forgotten first
        tasks.set(taskId, progress)
        return
      }
      const hash = hashOf(taskId)
      tasks.set(taskId, { hash, generation: 0, checkedAt: -1, notifiedAt: time, missed: 0 })
      byHash.set(hash, (byHash.get(hash) ?? new Set()).add(taskId))
      if (tasks.size > maxTasks) forgetOldest()
    },
  }
}

/** Reads events from the database. Concurrent readers of the same events share one query. */
export type ReadEvents = (taskId: string, after: number) => Promise<readonly StoredEvent[]>

export function createSharedReads(
  db: Pick<Database, 'withRetry'>,
  events: Pick<Events, 'read'>,
  waiters: Waiters,
): ReadEvents {
  const inFlight = new Map<string, Promise<readonly StoredEvent[]>>()

  async function read(taskId: string, after: number): Promise<readonly StoredEvent[]> {
    const queriedAt = waiters.beginRead(taskId)
    const { page, last = 0 } = await db.withRetry(() => events.read(taskId, after))
    waiters.update(taskId, queriedAt, last)
    return page
  }

  return (taskId, after) => {
    // A read from before the last notification is not shared: it may not see the notified events.
    const key = `${after} ${waiters.lastNotified(taskId)} ${taskId}`
    const shared = inFlight.get(key)
    if (shared) return shared
    const reading = read(taskId, after).finally(() => inFlight.delete(key))
    inFlight.set(key, reading)
    return reading
  }
}

/**
 * The payload of a notification: the sender and the tasks with new events. Tasks are given by a short hash, so that
 * hundreds fit into the 8,000 bytes that PostgreSQL allows. A hash collision only costs one needless read.
 */
export function encodeNotification(sender: string, taskIds: readonly string[]): string {
  return [sender, ...new Set(taskIds.map(hashOf))].join(' ')
}

/** FNV-1a, in 32 bits. */
export function hashOf(taskId: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < taskId.length; at++) hash = Math.imul(hash ^ taskId.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(36)
}

interface TaskProgress {
  readonly hash: string
  generation: number
  /** Time of the last query whose result is known. */
  checkedAt: LogicalTime
  /** Time of the last notification. */
  notifiedAt: LogicalTime
  /** How often a query found no such task. */
  missed: number
}
