import type { StoredEvent } from '../../core/protocol/events.ts'
import type { TaskLog } from '../../core/tasks/log.ts'
import type { OperatorLog } from '../../core/tasks/operator-log.ts'
import type { Database } from '../shared/database.ts'
import type { LogEngine } from '../shared/log-engine.ts'

/** Tasks whose generations are remembered. If there are more, all reads use the primary until the replica has caught up. */
const maxSeen = 20_000

/** The generation of a result that is right for every generation of a task that was not removed. */
const anyGeneration = Number.MAX_SAFE_INTEGER

export interface ReplicaOptions {
  readonly primary: Database
  readonly replica: Database
  /** How far the replica may be behind, in milliseconds. */
  readonly maxLag: number
}

/**
 * A replica of the database that may be read. It is behind the primary by the time since it was last seen to have everything
 * that the primary had. What this process has seen since is remembered, so that no answer of the replica is older.
 */
export interface Replica {
  /** Records that this process has seen a generation of a task, or `Infinity` if it has removed the task. */
  saw(taskId: string, generation: number): void
  /** Reads one task. Uses the primary if the replica may be too far behind, or lacks what `generationOf` must have reached. */
  readTask<T>(taskId: string, reads: TaskReads<T>): Promise<T>
  /** Reads many tasks. Uses the primary if the replica lacks something that this process has seen. */
  readAll<T>(reads: Omit<TaskReads<T>, 'generationOf'>): Promise<T>
}

export interface TaskReads<T> {
  readonly onReplica: () => Promise<T>
  readonly onPrimary: () => Promise<T>
  /** The generation of the task that the result shows. Undefined if only the primary knows. */
  readonly generationOf: (result: T) => number | undefined
}

export function createReplica({ primary, replica, maxLag }: ReplicaOptions): Replica {
  const selectPosition = primary.prepare<{ readonly position: string }>(
    () => 'SELECT pg_current_wal_lsn()::text AS position',
  )
  const selectReached = replica.prepare<{ readonly reached: boolean | null }, { readonly position: string }>(
    ({ position }) => `SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= ${position}::pg_lsn AS reached`,
  )
  /** By task, what was seen after `caughtUpTo`, oldest first. */
  const seen = new Map<string, { readonly generation: number; readonly at: number }>()
  let lastSeenAt = Number.NEGATIVE_INFINITY
  let forgottenAt = Number.NEGATIVE_INFINITY
  /** The replica has everything that the primary had at that time. */
  let caughtUpTo = Number.NEGATIVE_INFINITY
  let awaited: { readonly position: string; readonly at: number } | undefined
  let checkedAt = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | undefined

  async function check(): Promise<void> {
    checkedAt = performance.now()
    const at = checkedAt
    awaited ??= { at, position: (await selectPosition())[0]?.position ?? '' }
    const mark = awaited
    const [row] = await selectReached({ position: mark.position })
    if (!row?.reached) return
    awaited = undefined
    caughtUpTo = Math.max(caughtUpTo, mark.at)
    for (const [taskId, { at: seenAt }] of seen) {
      if (seenAt > caughtUpTo) break
      seen.delete(taskId)
    }
  }

  function checkOnce(): Promise<void> {
    checking ??= check()
      .catch(lose)
      .finally(() => {
        checking = undefined
      })
    return checking
  }

  /** The replica cannot be read: it is not used until a check has succeeded. */
  function lose(): void {
    caughtUpTo = Number.NEGATIVE_INFINITY
    awaited = undefined
  }

  function isFresh(): boolean {
    if (performance.now() - checkedAt > maxLag / 4) void checkOnce()
    return performance.now() - caughtUpTo <= maxLag
  }

  async function readReplica<T>(read: () => Promise<T>): Promise<{ readonly result: T } | undefined> {
    try {
      return { result: await read() }
    } catch {
      lose() // the primary is read instead; the database has logged an outage
      return undefined
    }
  }

  async function hasAllSeen(): Promise<boolean> {
    const needed = lastSeenAt
    if (needed <= caughtUpTo) return true
    await checking // whose position may be older
    await checkOnce()
    return needed <= caughtUpTo
  }

  function saw(taskId: string, generation: number): void {
    const at = performance.now()
    lastSeenAt = at
    if ((seen.get(taskId)?.generation ?? 0) > generation) return
    seen.delete(taskId) // moves it to the end
    seen.set(taskId, { generation, at })
    if (seen.size <= maxSeen) return
    seen.clear()
    forgottenAt = at
  }

  return {
    saw,
    async readTask(taskId, { onReplica, onPrimary, generationOf }) {
      const since = caughtUpTo
      const read = isFresh() ? await readReplica(onReplica) : undefined
      if (read) {
        const generation = generationOf(read.result)
        const last = seen.get(taskId)
        const hasSeen = last && last.at > since ? last.generation : 0
        if (generation !== undefined && generation >= hasSeen && forgottenAt <= since) return read.result
      }
      const result = await onPrimary()
      const generation = generationOf(result) ?? anyGeneration
      if (generation < anyGeneration) saw(taskId, generation)
      return result
    },
    async readAll({ onReplica, onPrimary }) {
      const read = isFresh() && (await hasAllSeen()) ? await readReplica(onReplica) : undefined
      if (read) return read.result
      const result = await onPrimary()
      forgottenAt = lastSeenAt = performance.now() // which tasks it shows is not remembered
      return result
    },
  }
}

/** The reads of a log that may use the replica. `recent` are the events that this process has stored. */
export function createReplicaReads(
  replica: Replica,
  log: Pick<TaskLog, 'head' | 'read' | 'snapshot' | 'list'>,
  engine: Pick<LogEngine, 'findHead' | 'listHeads' | 'events' | 'snapshots'>,
  recent: (taskId: string, after: number) => readonly StoredEvent[],
): NonNullable<TaskLog['replica']> {
  return {
    head: (taskId, scope) =>
      replica.readTask(taskId, {
        onReplica: () => engine.findHead(taskId, scope),
        onPrimary: () => log.head(taskId, scope),
        generationOf: (head) => head?.generation,
      }),
    async read(taskId, after) {
      const stored = recent(taskId, after)
      if (stored.length > 0) return stored
      return await replica.readTask(taskId, {
        onReplica: async () => (await engine.events.read(taskId, after)).page,
        onPrimary: () => log.read(taskId, after),
        // Events never change, so any that are there are right.
        generationOf: (page) => (page.length > 0 ? anyGeneration : after),
      })
    },
    // An older snapshot only makes its reader fold more events.
    snapshot: (taskId) =>
      replica.readTask(taskId, {
        onReplica: () => engine.snapshots.newest(taskId),
        onPrimary: () => log.snapshot(taskId),
        generationOf: () => anyGeneration,
      }),
    list: (query) => replica.readAll({ onReplica: () => engine.listHeads(query), onPrimary: () => log.list(query) }),
  }
}

/** What operators read, from the replica where that is recent enough. */
export function readOperatorReplica(replica: Replica, primary: OperatorLog, copy: OperatorLog): OperatorLog {
  return {
    ...primary,
    task: (taskId) =>
      replica.readTask(taskId, {
        onReplica: () => copy.task(taskId),
        onPrimary: () => primary.task(taskId),
        generationOf: (task) => task?.generation,
      }),
    events: (taskId, after, limit) =>
      replica.readTask(taskId, {
        onReplica: () => copy.events(taskId, after, limit),
        onPrimary: () => primary.events(taskId, after, limit),
        generationOf: (page) => (page.length > 0 ? anyGeneration : after),
      }),
    tasks: (query) => replica.readAll({ onReplica: () => copy.tasks(query), onPrimary: () => primary.tasks(query) }),
    counts: () => replica.readAll({ onReplica: () => copy.counts(), onPrimary: () => primary.counts() }),
    minutes: (from) => replica.readAll({ onReplica: () => copy.minutes(from), onPrimary: () => primary.minutes(from) }),
  }
}
