import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { isEnded, isTask } from '../protocol/states.ts'
import { advance, beginning } from './advance.ts'
import {
  type Appended,
  type AppendOptions,
  type Claim,
  type Claimed,
  type Lease,
  type LeaseRequest,
  type ListQuery,
  readLimit,
  type Snapshot,
  type TaskHead,
  type TaskLog,
} from './log.ts'
import { createWakeups } from './wakeups.ts'

export interface MemoryLogOptions {
  /** How many ended tasks are kept; beyond that the oldest become tombstones, and as many tombstones are kept. */
  readonly keepEnded?: number
}

/** The reference log: for tests, and for agents whose tasks may die with their process. */
export function createMemoryLog({ keepEnded = 10_000 }: MemoryLogOptions = {}): TaskLog {
  const tasks = new Map<string, Entry>()
  const claims = new Map<string, Claimed>()
  /** In the order of their end: the oldest first. */
  const ended = new Set<Entry>()
  const tombstones = new Set<Entry>()
  const wakeups = createWakeups()
  const breathe = createBreather()
  let lastKey = 0

  function claim(entry: Entry, generation: number, made: readonly Claim[] = []) {
    const { owner, taskId } = entry.head
    for (const { key, digest } of made) {
      claims.set(claimKey(owner, key), { digest, taskId, generation })
      entry.claims.push(claimKey(owner, key))
    }
  }

  function known(owner: string, wanted: readonly Claim[] = []): Claimed | undefined {
    for (const { key } of wanted) {
      const found = claims.get(claimKey(owner, key))
      if (found) return found
    }
    return undefined
  }

  function store(entry: Entry, events: readonly TaskEvent[]): number {
    for (const event of events) entry.events.push({ generation: entry.events.length + 1, event })
    entry.head = { ...entry.head, ...advance(entry.head, events) }
    if (isOver(entry.head)) retire(entry)
    wakeups.wake(entry.head.taskId)
    return entry.head.generation
  }

  function retire(entry: Entry) {
    entry.leaseUntil = undefined
    ended.add(entry)
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
    entry.head = { ...entry.head, phase: 'expired', status: undefined }
    for (const oldest of tombstones) {
      if (tombstones.size <= keepEnded) break
      remove(oldest)
    }
  }

  function remove(entry: Entry) {
    tombstones.delete(entry)
    tasks.delete(entry.head.taskId)
    for (const key of entry.claims) claims.delete(key)
  }

  function grant(entry: Entry, { ttl }: LeaseRequest): Lease | undefined {
    const now = Date.now()
    if (isOver(entry.head) || (entry.leaseUntil !== undefined && entry.leaseUntil > now)) return undefined
    entry.fence++
    entry.leaseUntil = now + ttl
    return { fence: entry.fence }
  }

  function append(entry: Entry, after: number, events: readonly TaskEvent[], options: AppendOptions): Appended {
    const found = known(entry.head.owner, options.claims)
    if (found) return { type: 'known', claimed: found }
    if (options.fence !== undefined && options.fence !== entry.fence) return { type: 'fenced' }
    if (entry.head.generation !== after) return { type: 'behind', generation: entry.head.generation }
    claim(entry, after + 1, options.claims)
    const generation = store(entry, events)
    return { type: 'stored', generation, lease: options.lease && grant(entry, options.lease) }
  }

  return {
    async create(task, events, options) {
      const found = known(task.owner, options.claims)
      if (found) return { type: 'known', claimed: found }
      if (tasks.has(task.taskId)) throw new Error(`task ${task.taskId} exists already`)
      const created = Date.now()
      const entry: Entry = {
        head: { ...task, ...beginning(created), created },
        events: [],
        claims: [],
        key: ++lastKey,
        fence: 1,
        leaseUntil: created + options.lease.ttl,
      }
      tasks.set(task.taskId, entry)
      claim(entry, 1, options.claims)
      const generation = store(entry, events)
      await breathe()
      return { type: 'stored', generation, lease: { fence: 1 } }
    },

    async append(taskId, after, events, options) {
      const entry = tasks.get(taskId)
      if (!entry || entry.head.phase === 'expired') return { type: 'gone' }
      const appended = append(entry, after, events, options)
      await breathe()
      return appended
    },

    async head(taskId) {
      return tasks.get(taskId)?.head
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
        heads: page.map(({ head }) => head),
        total: matching.length,
        next: last && { changed: last.head.changed, key: last.key },
      }
    },

    async claimed(owner, key) {
      return claims.get(claimKey(owner, key))
    },

    async acquire(taskId, lease) {
      const entry = tasks.get(taskId)
      return entry && grant(entry, lease)
    },

    async renew(leases, ttl) {
      const until = Date.now() + ttl
      return leases.flatMap(({ taskId, fence }) => {
        const entry = tasks.get(taskId)
        if (!entry || entry.fence !== fence || entry.leaseUntil === undefined) return [taskId]
        entry.leaseUntil = until
        return []
      })
    },

    async release(taskId, fence, after) {
      const entry = tasks.get(taskId)
      if (!entry || entry.fence !== fence) return true
      if (entry.head.generation !== after) return false
      entry.leaseUntil = undefined
      return true
    },

    async orphans(limit) {
      const now = Date.now()
      const found: TaskHead[] = []
      for (const { head, leaseUntil } of tasks.values()) {
        if (leaseUntil !== undefined && leaseUntil <= now) found.push(head)
        if (found.length === limit) break
      }
      return found
    },

    async expire(endedBefore, limit) {
      const old = [...ended].filter(({ head }) => head.changed < endedBefore).slice(0, limit)
      for (const entry of old) bury(entry)
      return old.length
    },

    async forget(endedBefore, limit) {
      const old = [...tombstones].filter(({ head }) => head.changed < endedBefore).slice(0, limit)
      for (const entry of old) remove(entry)
      return old.length
    },

    async close() {
      wakeups.wakeAll()
    },
  }
}

interface Entry {
  head: TaskHead
  events: StoredEvent[]
  readonly claims: string[]
  snapshot?: Snapshot
  /** Orders tasks whose status changed in the same millisecond. */
  readonly key: number
  fence: number
  leaseUntil?: number
}

function isOver({ phase }: TaskHead): boolean {
  return phase === 'expired' || isEnded(phase)
}

function matches({ head }: Entry, { owner, contextId, phase, changedSince }: ListQuery): boolean {
  return (
    head.phase !== 'expired' &&
    isTask(head.phase) &&
    head.owner === owner &&
    (contextId === undefined || head.contextId === contextId) &&
    (phase === undefined || head.phase === phase) &&
    (changedSince === undefined || head.changed >= changedSince)
  )
}

function claimKey(owner: string, key: string): string {
  return JSON.stringify([owner, key])
}

/**
 * Memory is so fast that a busy writer would never let go of the event loop. After a burst of appends one of them
 * waits for the next turn of the loop, in which readers, sockets and timers get their share.
 */
function createBreather(): () => Promise<void> | undefined {
  const burst = 64
  const nextTurn = globalThis.setImmediate ?? ((then: () => void) => setTimeout(then, 0))
  let appends = 0
  return () => {
    if (++appends < burst) return undefined
    appends = 0
    return new Promise((resolve) => nextTurn(resolve))
  }
}
