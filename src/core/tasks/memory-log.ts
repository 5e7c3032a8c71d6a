import { type Clock, monotonicOf, systemClock } from '../base/clock.ts'
import { checkOptions, having, integer, type OptionChecks, text } from '../base/options.ts'
import type { TaskEvent } from '../protocol/events.ts'
import { initialHead } from './fold.ts'
import { createWakeups } from './follow.ts'
import {
  type Appended,
  type AppendOptions,
  type ErasedTask,
  ForeignLog,
  isWithin,
  readLimit,
  type TaskHead,
  type TaskLog,
} from './log.ts'
import { createMemoryOperatorLog } from './memory-operator-log.ts'
import { createTaskTable, isOver, type TaskEntry, type TaskTable } from './memory-table.ts'
import type { OperatorLog } from './operator-log.ts'

/** Options of `createMemoryLog`. */
export interface MemoryLogOptions {
  /** How many ended tasks are kept; beyond that, the oldest become tombstones. As many tombstones are kept. Defaults to 10,000. */
  readonly keepEnded?: number
  /**
   * About how many bytes the ended tasks may take together; beyond that, the oldest become tombstones. The last one is
   * kept whatever its size. Defaults to 64 MiB.
   */
  readonly keepBytes?: number
  /** Name of the agent whose tasks it holds. Defaults to that of the first agent that uses it. */
  readonly agent?: string
  /** For tests. */
  readonly clock?: Clock
}

/** A log in memory, with what operators read from it. */
export interface MemoryLog extends TaskLog {
  readonly operator: OperatorLog
}

const optionChecks: OptionChecks<MemoryLogOptions> = {
  keepEnded: integer(),
  keepBytes: integer(),
  agent: text,
  clock: having('a clock such as createVirtualClock()', 'now'),
}

/**
 * Creates a task log in memory, for tests and for agents whose tasks may end with their process.
 *
 * @example
 * await serve(echo, { log: createMemoryLog() })
 */
export function createMemoryLog(options: MemoryLogOptions = {}): MemoryLog {
  checkOptions('createMemoryLog', options, optionChecks)
  const { keepEnded = 10_000, keepBytes = 64 * 2 ** 20, clock = systemClock } = options
  let { agent } = options
  const wakeups = createWakeups()
  const leaseTime = monotonicOf(clock)
  const onChange = (taskId: string) => wakeups.wake(taskId)
  const table = createTaskTable({ keepEnded, keepBytes, clock, leaseTime, onChange })
  const { tasks, claim, findClaim, store, grantLease } = table
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
    operator: createMemoryOperatorLog({ tasks, clock, leaseTime }),

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
        times: [],
        bytes: 0,
        claims: [],
        key: ++lastKey,
        fence: 1,
        isHeld: true,
        holder: options.lease.holder,
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
      if (snapshot.generation > (entry.snapshot?.generation ?? 0)) table.keepSnapshot(entry, snapshot)
    },

    async list(query) {
      const { tasks: page, ...rest } = table.lists.page(query)
      return { heads: page.map((entry) => ({ ...headOf(entry), key: entry.key })), ...rest }
    },

    async claimed(owner, key) {
      return table.claimed(owner, key)
    },

    ...createLeases(table, clock, leaseTime),
    ...createRetention(table, onChange),

    async close() {
      wakeups.wakeAll()
    },
  }
}

function createLeases(
  { tasks, grantLease }: TaskTable,
  clock: Clock,
  leaseTime: () => number,
): Pick<TaskLog, 'acquire' | 'renew' | 'release' | 'orphans'> {
  return {
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
  }
}

function createRetention(
  { tasks, ended, tombstones, leaveTombstone, remove }: TaskTable,
  onChange: (taskId: string) => void,
): Pick<TaskLog, 'expire' | 'forget' | 'erase'> {
  return {
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
        remove(entry)
        onChange(task.taskId)
      }
      return erased
    },
  }
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
