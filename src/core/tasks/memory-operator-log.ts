import type { Clock } from '../base/clock.ts'
import { createMemoryOperatorState } from '../base/operator-state.ts'
import { tenantPrefix } from '../protocol/model.ts'
import { readLimit } from './log.ts'
import { pageOf, type TaskEntry } from './memory-table.ts'
import {
  activePhases,
  type MinuteSummary,
  maxCounted,
  type OperatorLog,
  type OperatorQuery,
  type OperatorTask,
  ownersOfTenant,
  skillOfTask,
} from './operator-log.ts'

export interface MemoryOperatorLogOptions {
  readonly tasks: ReadonlyMap<string, TaskEntry>
  readonly clock: Clock
  readonly leaseTime: () => number
}

/** What operators read from a log in memory. Minutes and values end with the process, like the tasks. */
export function createMemoryOperatorLog({ tasks, clock, leaseTime }: MemoryOperatorLogOptions): OperatorLog {
  let minutes: readonly MinuteSummary[] = []

  function isLeased({ isHeld, leaseUntil = 0 }: TaskEntry): boolean {
    return isHeld && leaseUntil > leaseTime()
  }

  function isStuck(entry: TaskEntry): boolean {
    const isActive = activePhases.some((phase) => phase === entry.head.phase)
    return isActive && !isLeased(entry) && (entry.wakeAt ?? 0) <= clock.now()
  }

  function taskOf(entry: TaskEntry): OperatorTask {
    const { task, head, created, key, holder, leaseUntil = 0 } = entry
    const lease = isLeased(entry) ? { holder, expires: Math.round(clock.now() + leaseUntil - leaseTime()) } : undefined
    const first = entry.events[0]?.event
    return { ...task, ...head, created, key, skill: first?.type === 'message' ? skillOfTask(first) : undefined, lease }
  }

  function matches(entry: TaskEntry, query: OperatorQuery): boolean {
    const { task, head } = entry
    const { phases, principal, tenant, skill, contextId, search, changedSince = 0, changedBefore = Infinity } = query
    if (phases ? !phases.includes(head.phase) : head.phase === 'expired') return false
    if (query.isStuck && !isStuck(entry)) return false
    if (principal !== undefined && task.owner !== principal && !task.owner.endsWith(tenantPrefix('') + principal))
      return false
    if (tenant !== undefined && !ownersOfTenant(tenant).some((prefix) => task.owner.startsWith(prefix))) return false
    if (contextId !== undefined && task.contextId !== contextId) return false
    if (search !== undefined && !isFoundBy(entry, search)) return false
    if (head.changed < changedSince || head.changed >= changedBefore) return false
    return skill === undefined || taskOf(entry).skill === skill
  }

  function isFoundBy(entry: TaskEntry, search: string): boolean {
    const { taskId, contextId, owner } = entry.task
    if ([taskId, contextId, owner, taskOf(entry).skill].some((text) => text?.includes(search))) return true
    const first = entry.events[0]?.event
    const parts = first?.type === 'message' ? first.message.parts : []
    return parts.some((part) => 'text' in part && part.text.toLowerCase().includes(search.toLowerCase()))
  }

  return {
    kind: 'memory',

    async tasks(query) {
      const { page, total, next } = pageOf(tasks, (entry) => matches(entry, query), query)
      return { tasks: page.map(taskOf), total: Math.min(total, maxCounted), next }
    },

    async task(taskId) {
      const entry = tasks.get(taskId)
      return entry && taskOf(entry)
    },

    async events(taskId, after, limit) {
      const entry = tasks.get(taskId)
      const page = entry?.events.slice(after, after + Math.min(limit, readLimit.events)) ?? []
      return page.map((stored) => ({ ...stored, at: entry?.times[stored.generation - 1] }))
    },

    async counts() {
      const phases: Record<string, number> = {}
      let [stuck, leases, bytes] = [0, 0, 0]
      for (const entry of tasks.values()) {
        phases[entry.head.phase] = (phases[entry.head.phase] ?? 0) + 1
        if (isStuck(entry)) stuck++
        if (isLeased(entry)) leases++
        bytes += entry.bytes
      }
      return { phases, stuck, leases, bytes }
    },

    async activity(phase, after, limit) {
      const position = ({ head, key }: TaskEntry) => head.changed - after.changed || key - after.key
      const changed = [...tasks.values()].filter((entry) => entry.head.phase === phase && position(entry) > 0)
      changed.sort((one, other) => one.head.changed - other.head.changed || one.key - other.key)
      return changed.slice(0, limit).map(({ key, created, head }) => ({ key, created, changed: head.changed }))
    },

    minutes: async (from) => minutes.filter(({ minute }) => minute >= from),

    async keepMinutes(added, removeBefore) {
      const stored = new Set(minutes.map(({ minute }) => minute))
      const all = [...minutes, ...added.filter(({ minute }) => !stored.has(minute))]
      minutes = all.filter(({ minute }) => minute >= removeBefore).sort((one, other) => one.minute - other.minute)
    },

    ...createMemoryOperatorState({
      now: clock.now,
      hasContent: (taskId) => (tasks.get(taskId)?.head.phase ?? 'expired') !== 'expired',
    }),
  }
}
