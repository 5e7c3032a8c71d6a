import { type Clock, systemClock } from '../protocol/clock.ts'
import type { TaskEvent } from '../protocol/events.ts'
import { isTask } from '../protocol/states.ts'
import { beginning } from './advance.ts'
import { createBreather } from './breather.ts'
import {
  type Appended,
  type AppendOptions,
  type ErasedTask,
  type ListQuery,
  readLimit,
  type TaskHead,
  type TaskLog,
} from './log.ts'
import { createShelf, type Entry, isOver } from './memory-shelf.ts'
import { isWithin } from './scope.ts'
import { createWakeups } from './wakeups.ts'

export interface MemoryLogOptions {
  /** How many ended tasks are kept; beyond that the oldest become tombstones, and as many tombstones are kept. */
  readonly keepEnded?: number
  /** For tests. */
  readonly clock?: Clock
}

/** The reference log: for tests, and for agents whose tasks may die with their process. */
export function createMemoryLog({ keepEnded = 10_000, clock = systemClock }: MemoryLogOptions = {}): TaskLog {
  const wakeups = createWakeups()
  const shelf = createShelf({ keepEnded, clock, onChange: (taskId) => wakeups.wake(taskId) })
  const { tasks, ended, tombstones, claim, known, store, grant, bury, remove } = shelf
  const breathe = createBreather()
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
        standing: beginning(created),
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
