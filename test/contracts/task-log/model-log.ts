import type { TaskEvent } from '../../../src/core/protocol/events.ts'
import type { TaskStatus } from '../../../src/core/protocol/model.ts'
import type {
  Appended,
  AppendOptions,
  Claim,
  ClaimRecord,
  Created,
  CreateOptions,
  HeldLease,
  Lease,
  LeaseRequest,
  NewTask,
  TaskHead,
} from '../../../src/core/tasks/log.ts'

/**
 * A task log that is too simple to be wrong: it keeps all events and derives the rest. A lease lasts forever or, with a
 * ttl of 0, has expired at once.
 */
export class ModelLog {
  #tasks: ModelTask[] = []

  create(task: NewTask, events: readonly TaskEvent[], { lease, claims = [] }: CreateOptions): Created | 'exists' {
    const claimed = this.#claimed(task.owner, claims)
    if (claimed) return { type: 'known', claimed }
    if (this.#find(task.taskId)) return 'exists'
    const modelTask: ModelTask = { task, events: [], fence: 1, lease: leaseOf(lease), expired: false, claims: [] }
    this.#tasks.push(modelTask)
    store(modelTask, events, claims)
    return { type: 'stored', generation: events.length, lease: { fence: 1 } }
  }

  append(taskId: string, after: number, events: readonly TaskEvent[], options: AppendOptions): Appended {
    const modelTask = this.#find(taskId)
    if (!modelTask || modelTask.expired) return { type: 'gone' }
    const claimed = this.#claimed(modelTask.task.owner, options.claims ?? [])
    if (claimed) return { type: 'known', claimed }
    if (options.fence !== undefined && options.fence !== modelTask.fence) return { type: 'fenced' }
    if (modelTask.events.length !== after) return { type: 'behind', generation: modelTask.events.length }
    store(modelTask, events, options.claims ?? [])
    const isTakenOver = modelTask.lease === 'expired' && !isEnded(modelTask)
    const lease = options.lease && this.acquire(taskId, options.lease)
    const { length: generation } = modelTask.events
    return { type: 'stored', generation, lease: lease && isTakenOver ? { ...lease, isTakenOver } : lease }
  }

  acquire(taskId: string, request: LeaseRequest): Lease | undefined {
    const modelTask = this.#find(taskId)
    if (!modelTask || modelTask.expired || isEnded(modelTask) || modelTask.lease === 'held') return undefined
    modelTask.fence++
    modelTask.lease = leaseOf(request)
    return { fence: modelTask.fence }
  }

  renew(leases: readonly HeldLease[], ttl: number): readonly string[] {
    return leases
      .filter(({ taskId, fence }) => {
        const modelTask = this.#find(taskId)
        const isHeld = modelTask?.fence === fence && modelTask.lease !== 'free'
        if (isHeld) modelTask.lease = leaseOf({ ttl })
        return !isHeld
      })
      .map(({ taskId }) => taskId)
  }

  release(taskId: string, fence: number, after: number): boolean {
    const modelTask = this.#find(taskId)
    if (modelTask?.fence !== fence) return true
    if (modelTask.events.length !== after) return false
    modelTask.lease = 'free'
    return true
  }

  expire(endedBefore: number): number {
    const old = this.#tasks.filter(
      (modelTask) => isEnded(modelTask) && !modelTask.expired && changed(modelTask) < endedBefore,
    )
    for (const modelTask of old) modelTask.expired = true
    return old.length
  }

  forget(endedBefore: number): number {
    const old = this.#tasks.filter((modelTask) => modelTask.expired && changed(modelTask) < endedBefore)
    this.#tasks = this.#tasks.filter((modelTask) => !old.includes(modelTask))
    return old.length
  }

  erase(owner: string, contextId: string): readonly string[] {
    const erased = this.#tasks.filter(({ task }) => task.owner === owner && task.contextId === contextId)
    this.#tasks = this.#tasks.filter((modelTask) => !erased.includes(modelTask))
    return erased.map(({ task }) => task.taskId)
  }

  head(taskId: string): Omit<TaskHead, 'created' | 'changed'> | undefined {
    const modelTask = this.#find(taskId)
    if (!modelTask) return undefined
    const { task, events, expired } = modelTask
    const dialect = events.map((event) => event.type === 'message' && event.dialect).findLast(Boolean) || undefined
    if (expired) return { ...task, generation: events.length, phase: 'expired', dialect }
    const status = statusOf(modelTask)
    const phase = events.some(({ type }) => type === 'reply') ? 'answered' : (status?.state ?? 'received')
    return { ...task, generation: events.length, phase, status, dialect }
  }

  events(taskId: string): readonly TaskEvent[] {
    const modelTask = this.#find(taskId)
    return modelTask && !modelTask.expired ? modelTask.events : []
  }

  isEnded(taskId: string): boolean {
    const modelTask = this.#find(taskId)
    return modelTask !== undefined && isEnded(modelTask)
  }

  claimed(owner: string, key: string): ClaimRecord | undefined {
    const held = this.#tasks.filter(({ task }) => task.owner === owner).flatMap(({ claims }) => claims)
    return held.find((candidate) => candidate.key === key)?.claimed
  }

  orphans(): readonly string[] {
    return this.#tasks.filter(({ lease }) => lease === 'expired').map(({ task }) => task.taskId)
  }

  list(owner: string): readonly string[] {
    return this.#tasks
      .filter((modelTask) => modelTask.task.owner === owner && !modelTask.expired && statusOf(modelTask))
      .reverse()
      .sort((a, b) => changed(b) - changed(a))
      .map(({ task }) => task.taskId)
  }

  #find(taskId: string): ModelTask | undefined {
    return this.#tasks.find(({ task }) => task.taskId === taskId)
  }

  #claimed(owner: string, claims: readonly Claim[]): ClaimRecord | undefined {
    return claims.map(({ key }) => this.claimed(owner, key)).find(Boolean)
  }
}

interface ModelTask {
  readonly task: NewTask
  readonly events: TaskEvent[]
  fence: number
  lease: 'held' | 'expired' | 'free'
  expired: boolean
  readonly claims: { readonly key: string; readonly claimed: ClaimRecord }[]
}

function leaseOf({ ttl }: Pick<LeaseRequest, 'ttl'>): 'held' | 'expired' {
  return ttl === 0 ? 'expired' : 'held'
}

function store(modelTask: ModelTask, events: readonly TaskEvent[], claims: readonly Claim[]): void {
  const { taskId } = modelTask.task
  const claimed = { taskId, generation: modelTask.events.length + 1 }
  for (const { key, digest } of claims) modelTask.claims.push({ key, claimed: { ...claimed, digest } })
  modelTask.events.push(...events)
  if (isEnded(modelTask)) modelTask.lease = 'free'
}

function statusOf({ events }: ModelTask): TaskStatus | undefined {
  const at = events.findLastIndex(({ type }) => type === 'status')
  const event = events[at]
  if (event?.type !== 'status') return undefined
  const isAnswered = events.slice(at).some(({ type }) => type === 'message')
  const { message: _, ...answered } = event.status
  return isAnswered ? answered : event.status
}

function isEnded(modelTask: ModelTask): boolean {
  return statusOf(modelTask)?.state === 'completed' || modelTask.events.some(({ type }) => type === 'reply')
}

/** A task without a status changed just now, which is later than every time in the tests. */
function changed(modelTask: ModelTask): number {
  return Date.parse(statusOf(modelTask)?.timestamp ?? '9999-12-31T00:00:00Z')
}
