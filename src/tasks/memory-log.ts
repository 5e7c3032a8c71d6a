import { type Clock, monotonicOf, systemClock } from '../base/clock.ts'
import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { isEnded, isTask } from '../protocol/states.ts'
import { advanceHead, type HeadState, initialHead } from './fold.ts'
import { createWakeups } from './follow.ts'
import {
  type Appended,
  type AppendOptions,
  type Claim,
  type ClaimRecord,
  type ErasedTask,
  ForeignLog,
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

export interface MemoryLogOptions {
  /** How many ended tasks are kept; beyond that, the oldest become tombstones. As many tombstones are kept. Defaults to 10,000. */
  readonly keepEnded?: number
  /** Name of the agent whose tasks it holds. Defaults to that of the first agent that uses it. */
  readonly agent?: string
  /** For tests. */
  readonly clock?: Clock
}

/** A log in memory: the reference implementation, for tests and for agents whose tasks may end with their process. */
export function createMemoryLog(options: MemoryLogOptions = {}): TaskLog {
  const { keepEnded = 10_000, clock = systemClock } = options
  let { agent } = options
  const wakeups = createWakeups()
  const leaseTime = monotonicOf(clock)
  const table = createTaskTable({ keepEnded, clock, leaseTime, onChange: (taskId) => wakeups.wake(taskId) })
  const { tasks, ended, tombstones, claim, findClaim, store, grantLease, leaveTombstone, remove } = table
  const yieldAfterBurst = createYielder()
  let lastKey = 0

  function append(entry: TaskEntry, after: number, events: readonly TaskEvent[], options: AppendOptions): Appended {
    const claimed = findClaim(entry.task.owner, options.claims)
    if (claimed) return { type: 'known', claimed }
    if (options.fence !== undefined && options.fence !== entry.fence) return { type: 'fenced' }
    const { generation: last } = entry.head
    if (last !== after) return { type: 'behind', generation: last }
    claim(entry, after + 1, options.claims)
    const generation = store(entry, events)
    const { isHeld } = entry
    const lease = options.lease && grantLease(entry, options.lease)
    return { type: 'stored', generation, lease: lease && isHeld ? { ...lease, isTakenOver: true } : lease }
  }

  return {
    reserveFor(name) {
      agent ??= name
      if (agent !== name) throw new ForeignLog('This log in memory', 'its own log', { agent: name, owner: agent })
    },

    async create(task, events, options) {
      const claimed = findClaim(task.owner, options.claims)
      if (claimed) return { type: 'known', claimed }
      if (tasks.has(task.taskId)) throw new Error(`task ${task.taskId} exists already`)
      const created = clock.now()
      const entry: TaskEntry = {
        task,
        created,
        head: initialHead(created),
        events: [],
        claims: [],
        key: ++lastKey,
        fence: 1,
        isHeld: true,
        leaseUntil: leaseTime() + options.lease.ttl,
      }
      tasks.set(task.taskId, entry)
      claim(entry, 1, options.claims)
      const generation = store(entry, events)
      const yielding = yieldAfterBurst()
      if (yielding) await yielding
      return { type: 'stored', generation, lease: { fence: 1 } }
    },

    async append(taskId, after, events, options) {
      const entry = tasks.get(taskId)
      if (!entry || entry.head.phase === 'expired') return { type: 'gone' }
      const appended = append(entry, after, events, options)
      const yielding = yieldAfterBurst()
      if (yielding) await yielding
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
      if (entry && entry.head.generation > after) return
      await wakeups.wait(taskId, signal)
    },

    async snapshot(taskId) {
      return tasks.get(taskId)?.snapshot
    },

    async keepSnapshot(snapshot) {
      const entry = tasks.get(snapshot.taskId)
      if (!entry || entry.head.phase === 'expired') return
      if (snapshot.generation > (entry.snapshot?.generation ?? 0)) entry.snapshot = snapshot
    },

    async list(query) {
      const matching = [...tasks.values()].filter((entry) => matches(entry, query))
      matching.sort((a, b) => b.head.changed - a.head.changed || b.key - a.key)
      const { cursor, limit } = query
      const rest = cursor
        ? matching.filter(({ head, key }) => (head.changed - cursor.changed || key - cursor.key) < 0)
        : matching
      const page = rest.slice(0, limit)
      const last = rest.length > limit ? page.at(-1) : undefined
      return {
        heads: page.map((entry) => ({ ...headOf(entry), key: entry.key })),
        total: matching.length,
        next: last && { changed: last.head.changed, key: last.key },
      }
    },

    async claimed(owner, key) {
      return table.claimed(owner, key)
    },

    async acquire(taskId, lease) {
      const entry = tasks.get(taskId)
      return entry && grantLease(entry, lease)
    },

    async renew(leases, ttl) {
      const until = leaseTime() + ttl
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
      if (entry.head.generation !== after) return false
      entry.isHeld = false
      entry.leaseUntil = undefined
      entry.wakeAt = isOver(entry) ? undefined : wakeAt
      return true
    },

    async orphans(limit) {
      const [now, time] = [clock.now(), leaseTime()]
      const orphans: TaskHead[] = []
      for (const entry of tasks.values()) {
        const { leaseUntil = Number.POSITIVE_INFINITY, wakeAt = Number.POSITIVE_INFINITY } = entry
        if (leaseUntil <= time || wakeAt <= now) orphans.push(headOf(entry))
        if (orphans.length === limit) break
      }
      return orphans
    },

    async expire(endedBefore, limit, phases: readonly string[] | undefined) {
      const isOld = ({ head: { changed, phase } }: TaskEntry) =>
        changed < endedBefore && (phases === undefined || phases.includes(phase))
      const old = [...ended].filter(isOld).slice(0, limit)
      for (const entry of old) leaveTombstone(entry)
      return old.length
    },

    async forget(endedBefore, limit) {
      const old = [...tombstones].filter(({ head }) => head.changed < endedBefore).slice(0, limit)
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

interface TaskEntry {
  readonly task: NewTask
  readonly created: number
  head: HeadState
  events: StoredEvent[]
  readonly claims: string[]
  snapshot?: Snapshot
  /** Orders tasks whose status changed in the same millisecond. */
  readonly key: number
  fence: number
  isHeld: boolean
  /** When the lease expires, by `monotonicOf(clock)`. */
  leaseUntil?: number
  /** When a task without a lease becomes an orphan, in milliseconds since 1970. */
  wakeAt?: number
}

interface TaskTableOptions {
  /** How many ended tasks are kept, and as many tombstones. */
  readonly keepEnded: number
  readonly clock: Clock
  readonly leaseTime: () => number
  /** Called after events of a task were stored. */
  readonly onChange: (taskId: string) => void
}

interface TaskTable {
  readonly tasks: Map<string, TaskEntry>
  /** The ended tasks, in the order in which they ended. */
  readonly ended: Set<TaskEntry>
  readonly tombstones: Set<TaskEntry>
  claim(entry: TaskEntry, generation: number, claims?: readonly Claim[]): void
  /** The record of the first of these keys that is claimed. */
  findClaim(owner: string, claims?: readonly Claim[]): ClaimRecord | undefined
  claimed(owner: string, key: string): ClaimRecord | undefined
  /** Returns the generation of the last event. */
  store(entry: TaskEntry, events: readonly TaskEvent[]): number
  grantLease(entry: TaskEntry, lease: LeaseRequest): Lease | undefined
  /** Removes the content of a task. */
  leaveTombstone(entry: TaskEntry): void
  remove(entry: TaskEntry): void
}

/** The tasks and claims of a memory log, with a limit for ended tasks. */
function createTaskTable({ keepEnded, clock, leaseTime, onChange }: TaskTableOptions): TaskTable {
  const tasks = new Map<string, TaskEntry>()
  const records = new Map<string, ClaimRecord>()
  const ended = new Set<TaskEntry>()
  const tombstones = new Set<TaskEntry>()
  /** The oldest are removed many at a time: iteration over a set skips every removed member first. */
  const burst = Math.floor(keepEnded / 10)

  function claim(entry: TaskEntry, generation: number, claims: readonly Claim[] = []) {
    const { owner, taskId } = entry.task
    for (const { key, digest } of claims) {
      const claimKey = claimKeyOf(owner, key)
      records.set(claimKey, { digest, taskId, generation })
      entry.claims.push(claimKey)
    }
  }

  function findClaim(owner: string, claims: readonly Claim[] = []): ClaimRecord | undefined {
    for (const { key } of claims) {
      const record = records.get(claimKeyOf(owner, key))
      if (record) return record
    }
    return undefined
  }

  function store(entry: TaskEntry, events: readonly TaskEvent[]): number {
    for (const event of events) entry.events.push({ generation: entry.events.length + 1, event })
    entry.head = advanceHead(entry.head, events, clock.now)
    if (isOver(entry)) retire(entry)
    onChange(entry.task.taskId)
    return entry.head.generation
  }

  function retire(entry: TaskEntry) {
    entry.leaseUntil = undefined
    entry.wakeAt = undefined
    ended.add(entry)
    if (ended.size <= keepEnded + burst) return
    for (const oldest of ended) {
      if (ended.size <= keepEnded) break
      leaveTombstone(oldest)
    }
  }

  function leaveTombstone(entry: TaskEntry) {
    ended.delete(entry)
    tombstones.add(entry)
    entry.events = []
    entry.snapshot = undefined
    entry.head = { ...entry.head, phase: 'expired', status: undefined }
    if (tombstones.size <= keepEnded + burst) return
    for (const oldest of tombstones) {
      if (tombstones.size <= keepEnded) break
      remove(oldest)
    }
  }

  function remove(entry: TaskEntry) {
    tombstones.delete(entry)
    tasks.delete(entry.task.taskId)
    for (const key of entry.claims) records.delete(key)
  }

  function grantLease(entry: TaskEntry, { ttl }: LeaseRequest): Lease | undefined {
    const time = leaseTime()
    if (isOver(entry) || (entry.isHeld && entry.leaseUntil !== undefined && entry.leaseUntil > time)) return undefined
    entry.fence++
    entry.isHeld = true
    entry.leaseUntil = time + ttl
    entry.wakeAt = undefined
    return { fence: entry.fence }
  }

  return {
    ...{ tasks, ended, tombstones, claim, findClaim, store, grantLease, leaveTombstone, remove },
    claimed: (owner, key) => records.get(claimKeyOf(owner, key)),
  }
}

function claimKeyOf(owner: string, key: string): string {
  return `${owner.length} ${owner} ${key}`
}

function isOver({ head: { phase } }: TaskEntry): boolean {
  return phase === 'expired' || isEnded(phase)
}

/**
 * Appends to memory are so fast that a busy writer would block the event loop. After a burst, one append waits for the
 * next iteration of the loop, so that readers, sockets and timers get their share.
 */
function createYielder(): () => Promise<void> | undefined {
  const burst = 64
  const defer = globalThis.setImmediate ?? ((callback: () => void) => setTimeout(callback, 0))
  let appends = 0
  return () => {
    if (++appends < burst) return undefined
    appends = 0
    return new Promise((resolve) => defer(resolve))
  }
}

function headOf({ task, head, created }: TaskEntry): TaskHead {
  return { ...task, ...head, created }
}

function matches({ task, head }: TaskEntry, query: ListQuery): boolean {
  const { contextId, phase, changedSince } = query
  return (
    head.phase !== 'expired' &&
    isTask(head.phase) &&
    isWithin(query, task.owner) &&
    (contextId === undefined || task.contextId === contextId) &&
    (phase === undefined || head.phase === phase) &&
    (changedSince === undefined || head.changed >= changedSince)
  )
}
