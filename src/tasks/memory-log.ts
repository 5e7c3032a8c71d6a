import { type Clock, systemClock } from '../base/clock.ts'
import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { isEnded, isTask } from '../protocol/states.ts'
import { createWakeups } from './follow.ts'
import {
  type Appended,
  type AppendOptions,
  type Claim,
  type ClaimRecord,
  type ErasedTask,
  isWithin,
  type Lease,
  type LeaseRequest,
  type ListQuery,
  type NewTask,
  readLimit,
  type Snapshot,
  type TaskHead,
  type TaskLog,
} from './log.ts'
import { advanceHead, type HeadState, initialHead } from './task-head.ts'

export interface MemoryLogOptions {
  /** How many ended tasks are kept; beyond that the oldest become tombstones, and as many tombstones are kept. */
  readonly keepEnded?: number
  /** For tests. */
  readonly clock?: Clock
}

export interface Entry {
  readonly task: NewTask
  readonly created: number
  standing: HeadState
  events: StoredEvent[]
  readonly claims: string[]
  snapshot?: Snapshot
  /** Orders tasks whose status changed in the same millisecond. */
  readonly key: number
  fence: number
  /** Until when it is leased; if nobody holds it, when it shall be an orphan. */
  leaseUntil?: number
  isHeld: boolean
}

/** The reference log: for tests, and for agents whose tasks may die with their process. */
export function createMemoryLog({ keepEnded = 10_000, clock = systemClock }: MemoryLogOptions = {}): TaskLog {
  const wakeups = createWakeups()
  const shelf = createShelf({ keepEnded, clock, onChange: (taskId) => wakeups.wake(taskId) })
  const { tasks, ended, tombstones, claim, known, store, grant, bury, remove } = shelf
  const breathe = createYielder()
  let lastKey = 0

  function append(entry: Entry, after: number, events: readonly TaskEvent[], options: AppendOptions): Appended {
    const found = known(entry.task.owner, options.claims)
    if (found) return { type: 'known', claimed: found }
    if (options.fence !== undefined && options.fence !== entry.fence) return { type: 'fenced' }
    const { generation: last } = entry.standing
    if (last !== after) return { type: 'behind', generation: last }
    claim(entry, after + 1, options.claims)
    const generation = store(entry, events)
    return { type: 'stored', generation, lease: options.lease && grant(entry, options.lease) }
  }

  return {
    async create(task, events, options) {
      const found = known(task.owner, options.claims)
      if (found) return { type: 'known', claimed: found }
      if (tasks.has(task.taskId)) throw new Error(`task ${task.taskId} exists already`)
      const created = clock.now()
      const entry: Entry = {
        task,
        created,
        standing: initialHead(created),
        events: [],
        claims: [],
        key: ++lastKey,
        fence: 1,
        isHeld: true,
        leaseUntil: created + options.lease.ttl,
      }
      tasks.set(task.taskId, entry)
      claim(entry, 1, options.claims)
      const generation = store(entry, events)
      const pause = breathe()
      if (pause) await pause
      return { type: 'stored', generation, lease: { fence: 1 } }
    },

    async append(taskId, after, events, options) {
      const entry = tasks.get(taskId)
      if (!entry || entry.standing.phase === 'expired') return { type: 'gone' }
      const appended = append(entry, after, events, options)
      const pause = breathe()
      if (pause) await pause
      return appended
    },

    async head(taskId, scope) {
      const entry = tasks.get(taskId)
      return entry && (!scope || isWithin(scope, entry.task.owner)) ? headOf(entry) : undefined
    },

    async read(taskId, after) {
      return tasks.get(taskId)?.events.slice(after, after + readLimit.events) ?? []
    },

    async wait(taskId, after, signal) {
      const entry = tasks.get(taskId)
      if (entry && entry.standing.generation > after) return
      await wakeups.wait(taskId, signal)
    },

    async snapshot(taskId) {
      return tasks.get(taskId)?.snapshot
    },

    async keepSnapshot(snapshot) {
      const entry = tasks.get(snapshot.taskId)
      if (!entry || entry.standing.phase === 'expired') return
      if (snapshot.generation > (entry.snapshot?.generation ?? 0)) entry.snapshot = snapshot
    },

    async list(query) {
      const matching = [...tasks.values()].filter((entry) => matches(entry, query))
      matching.sort((a, b) => b.standing.changed - a.standing.changed || b.key - a.key)
      const { cursor, limit } = query
      const rest = cursor
        ? matching.filter(({ standing, key }) => (standing.changed - cursor.changed || key - cursor.key) < 0)
        : matching
      const page = rest.slice(0, limit)
      const last = rest.length > limit ? page.at(-1) : undefined
      return {
        heads: page.map(headOf),
        total: matching.length,
        next: last && { changed: last.standing.changed, key: last.key },
      }
    },

    async claimed(owner, key) {
      return shelf.claimed(owner, key)
    },

    async acquire(taskId, lease) {
      const entry = tasks.get(taskId)
      return entry && grant(entry, lease)
    },

    async renew(leases, ttl) {
      const until = clock.now() + ttl
      return leases.flatMap(({ taskId, fence }) => {
        const entry = tasks.get(taskId)
        if (entry?.fence !== fence || !entry.isHeld || entry.leaseUntil === undefined) return [taskId]
        entry.leaseUntil = until
        return []
      })
    },

    async release(taskId, fence, after, wakeAt) {
      const entry = tasks.get(taskId)
      if (!entry || entry.fence !== fence) return true
      if (entry.standing.generation !== after) return false
      entry.isHeld = false
      entry.leaseUntil = isOver(entry) ? undefined : wakeAt
      return true
    },

    async orphans(limit) {
      const now = clock.now()
      const found: TaskHead[] = []
      for (const entry of tasks.values()) {
        if (entry.leaseUntil !== undefined && entry.leaseUntil <= now) found.push(headOf(entry))
        if (found.length === limit) break
      }
      return found
    },

    async expire(endedBefore, limit, phases: readonly string[] | undefined) {
      const isOld = ({ standing: { changed, phase } }: Entry) =>
        changed < endedBefore && (phases === undefined || phases.includes(phase))
      const old = [...ended].filter(isOld).slice(0, limit)
      for (const entry of old) bury(entry)
      return old.length
    },

    async forget(endedBefore, limit) {
      const old = [...tombstones].filter(({ standing }) => standing.changed < endedBefore).slice(0, limit)
      for (const entry of old) remove(entry)
      return old.length
    },

    async erase({ owner, contextId }, limit) {
      const erased: ErasedTask[] = []
      for (const entry of tasks.values()) {
        if (erased.length === limit) break
        const { task } = entry
        if (owner !== undefined && task.owner !== owner) continue
        if (contextId !== undefined && task.contextId !== contextId) continue
        erased.push({ ...task, events: entry.events.length })
        ended.delete(entry)
        remove(entry)
        wakeups.wake(task.taskId)
      }
      return erased
    },

    async close() {
      wakeups.wakeAll()
    },
  }
}

export interface ShelfOptions {
  /** How many ended tasks are kept, and as many tombstones. */
  readonly keepEnded: number
  readonly clock: Clock
  /** Something of the task was stored. */
  readonly onChange: (taskId: string) => void
}

export interface TaskTable {
  readonly tasks: Map<string, Entry>
  /** In the order of their end: the oldest first. */
  readonly ended: Set<Entry>
  readonly tombstones: Set<Entry>
  claim(entry: Entry, generation: number, made?: readonly Claim[]): void
  /** Who has the first of these keys that somebody has. */
  known(owner: string, wanted?: readonly Claim[]): ClaimRecord | undefined
  claimed(owner: string, key: string): ClaimRecord | undefined
  /** The generation of the last of them. */
  store(entry: Entry, events: readonly TaskEvent[]): number
  grant(entry: Entry, lease: LeaseRequest): Lease | undefined
  /** Leaves only a tombstone of it. */
  bury(entry: Entry): void
  remove(entry: Entry): void
}

/** The tasks of a memory log, with who claimed which key, and room for so many that have ended. */
function createShelf({ keepEnded, clock, onChange }: ShelfOptions): TaskTable {
  const tasks = new Map<string, Entry>()
  const claims = new Map<string, ClaimRecord>()
  const ended = new Set<Entry>()
  const tombstones = new Set<Entry>()
  /** The oldest go many at a time: a set steps over every one that has left it before it comes to the first. */
  const burst = Math.floor(keepEnded / 10)

  function claim(entry: Entry, generation: number, made: readonly Claim[] = []) {
    const { owner, taskId } = entry.task
    for (const { key, digest } of made) {
      const claimed = claimKey(owner, key)
      claims.set(claimed, { digest, taskId, generation })
      entry.claims.push(claimed)
    }
  }

  function known(owner: string, wanted: readonly Claim[] = []): ClaimRecord | undefined {
    for (const { key } of wanted) {
      const found = claims.get(claimKey(owner, key))
      if (found) return found
    }
    return undefined
  }

  function store(entry: Entry, events: readonly TaskEvent[]): number {
    for (const event of events) entry.events.push({ generation: entry.events.length + 1, event })
    entry.standing = advanceHead(entry.standing, events, clock.now)
    if (isOver(entry)) retire(entry)
    onChange(entry.task.taskId)
    return entry.standing.generation
  }

  function retire(entry: Entry) {
    entry.leaseUntil = undefined
    ended.add(entry)
    if (ended.size <= keepEnded + burst) return
    for (const oldest of ended) {
      if (ended.size <= keepEnded) break
      bury(oldest)
    }
  }

  function bury(entry: Entry) {
    ended.delete(entry)
    tombstones.add(entry)
    entry.events = []
    entry.snapshot = undefined
    entry.standing = { ...entry.standing, phase: 'expired', status: undefined }
    if (tombstones.size <= keepEnded + burst) return
    for (const oldest of tombstones) {
      if (tombstones.size <= keepEnded) break
      remove(oldest)
    }
  }

  function remove(entry: Entry) {
    tombstones.delete(entry)
    tasks.delete(entry.task.taskId)
    for (const key of entry.claims) claims.delete(key)
  }

  function grant(entry: Entry, { ttl }: LeaseRequest): Lease | undefined {
    const now = clock.now()
    if (isOver(entry) || (entry.isHeld && entry.leaseUntil !== undefined && entry.leaseUntil > now)) return undefined
    entry.fence++
    entry.isHeld = true
    entry.leaseUntil = now + ttl
    return { fence: entry.fence }
  }

  return {
    ...{ tasks, ended, tombstones, claim, known, store, grant, bury, remove },
    claimed: (owner, key) => claims.get(claimKey(owner, key)),
  }
}

function claimKey(owner: string, key: string): string {
  return `${owner.length} ${owner} ${key}`
}

function isOver({ standing: { phase } }: Entry): boolean {
  return phase === 'expired' || isEnded(phase)
}

/**
 * Memory is so fast that a busy writer would never let go of the event loop. After a burst of appends one of them
 * waits for the next turn of the loop, in which readers, sockets and timers get their share.
 */
function createYielder(): () => Promise<void> | undefined {
  const burst = 64
  const nextTurn = globalThis.setImmediate ?? ((then: () => void) => setTimeout(then, 0))
  let appends = 0
  return () => {
    if (++appends < burst) return undefined
    appends = 0
    return new Promise((resolve) => nextTurn(resolve))
  }
}

function headOf({ task, standing, created }: Entry): TaskHead {
  return { ...task, ...standing, created }
}

function matches({ task, standing }: Entry, query: ListQuery): boolean {
  const { contextId, phase, changedSince } = query
  return (
    standing.phase !== 'expired' &&
    isTask(standing.phase) &&
    isWithin(query, task.owner) &&
    (contextId === undefined || task.contextId === contextId) &&
    (phase === undefined || standing.phase === phase) &&
    (changedSince === undefined || standing.changed >= changedSince)
  )
}
