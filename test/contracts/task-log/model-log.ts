import type { TaskEvent } from '../../../src/protocol/events.ts'
import type { TaskStatus } from '../../../src/protocol/model.ts'
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
} from '../../../src/tasks/log.ts'

/**
 * What a log must answer, written so plainly that it can be believed: it keeps every fact and works out the rest.
 * A lease lasts for ever or, with a ttl of 0, has run out at once.
 */
export class ModelLog {
  #tasks: ModelTask[] = []

  create(task: NewTask, events: readonly TaskEvent[], { lease, claims = [] }: CreateOptions): Created | 'exists' {
    const claimed = this.#claimed(task.owner, claims)
    if (claimed) return { type: 'known', claimed }
    if (this.#find(task.taskId)) return 'exists'
    const facts: ModelTask = { task, events: [], fence: 1, lease: leaseOf(lease), expired: false, claims: [] }
    this.#tasks.push(facts)
    store(facts, events, claims)
    return { type: 'stored', generation: events.length, lease: { fence: 1 } }
  }

  append(taskId: string, after: number, events: readonly TaskEvent[], options: AppendOptions): Appended {
    const facts = this.#find(taskId)
    if (!facts || facts.expired) return { type: 'gone' }
    const claimed = this.#claimed(facts.task.owner, options.claims ?? [])
    if (claimed) return { type: 'known', claimed }
    if (options.fence !== undefined && options.fence !== facts.fence) return { type: 'fenced' }
    if (facts.events.length !== after) return { type: 'behind', generation: facts.events.length }
    store(facts, events, options.claims ?? [])
    const lease = options.lease && this.acquire(taskId, options.lease)
    return { type: 'stored', generation: facts.events.length, lease }
  }

  acquire(taskId: string, request: LeaseRequest): Lease | undefined {
    const facts = this.#find(taskId)
    if (!facts || facts.expired || isEnded(facts) || facts.lease === 'held') return undefined
    facts.fence++
    facts.lease = leaseOf(request)
    return { fence: facts.fence }
  }

  renew(leases: readonly HeldLease[], ttl: number): readonly string[] {
    return leases
      .filter(({ taskId, fence }) => {
        const facts = this.#find(taskId)
        const isKept = facts?.fence === fence && facts.lease !== 'free'
        if (isKept) facts.lease = leaseOf({ ttl })
        return !isKept
      })
      .map(({ taskId }) => taskId)
  }

  release(taskId: string, fence: number, after: number): boolean {
    const facts = this.#find(taskId)
    if (facts?.fence !== fence) return true
    if (facts.events.length !== after) return false
    facts.lease = 'free'
    return true
  }

  expire(endedBefore: number): number {
    const old = this.#tasks.filter((facts) => isEnded(facts) && !facts.expired && changed(facts) < endedBefore)
    for (const facts of old) facts.expired = true
    return old.length
  }

  forget(endedBefore: number): number {
    const old = this.#tasks.filter((facts) => facts.expired && changed(facts) < endedBefore)
    this.#tasks = this.#tasks.filter((facts) => !old.includes(facts))
    return old.length
  }

  erase(owner: string, contextId: string): readonly string[] {
    const gone = this.#tasks.filter(({ task }) => task.owner === owner && task.contextId === contextId)
    this.#tasks = this.#tasks.filter((facts) => !gone.includes(facts))
    return gone.map(({ task }) => task.taskId)
  }

  head(taskId: string): Omit<TaskHead, 'created' | 'changed'> | undefined {
    const facts = this.#find(taskId)
    if (!facts) return undefined
    const { task, events, expired } = facts
    const dialect = events.map((event) => event.type === 'message' && event.dialect).findLast(Boolean) || undefined
    if (expired) return { ...task, generation: events.length, phase: 'expired', dialect }
    const status = statusOf(facts)
    const phase = events.some(({ type }) => type === 'reply') ? 'answered' : (status?.state ?? 'received')
    return { ...task, generation: events.length, phase, status, dialect }
  }

  events(taskId: string): readonly TaskEvent[] {
    const facts = this.#find(taskId)
    return facts && !facts.expired ? facts.events : []
  }

  isEnded(taskId: string): boolean {
    const facts = this.#find(taskId)
    return facts !== undefined && isEnded(facts)
  }

  claimed(owner: string, key: string): ClaimRecord | undefined {
    const held = this.#tasks.filter(({ task }) => task.owner === owner).flatMap(({ claims }) => claims)
    return held.find((candidate) => candidate.key === key)?.claimed
  }

  orphans(): readonly string[] {
    return this.#tasks.filter(({ lease }) => lease === 'run out').map(({ task }) => task.taskId)
  }

  list(owner: string): readonly string[] {
    return this.#tasks
      .filter((facts) => facts.task.owner === owner && !facts.expired && statusOf(facts))
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
  lease: 'held' | 'run out' | 'free'
  expired: boolean
  readonly claims: { readonly key: string; readonly claimed: ClaimRecord }[]
}

function leaseOf({ ttl }: Pick<LeaseRequest, 'ttl'>): 'held' | 'run out' {
  return ttl === 0 ? 'run out' : 'held'
}

function store(facts: ModelTask, events: readonly TaskEvent[], claims: readonly Claim[]): void {
  const { taskId } = facts.task
  const claimed = { taskId, generation: facts.events.length + 1 }
  for (const { key, digest } of claims) facts.claims.push({ key, claimed: { ...claimed, digest } })
  facts.events.push(...events)
  if (isEnded(facts)) facts.lease = 'free'
}

function statusOf({ events }: ModelTask): TaskStatus | undefined {
  const at = events.findLastIndex(({ type }) => type === 'status')
  const event = events[at]
  if (event?.type !== 'status') return undefined
  const isAnswered = events.slice(at).some(({ type }) => type === 'message')
  const { message: _, ...answered } = event.status
  return isAnswered ? answered : event.status
}

function isEnded(facts: ModelTask): boolean {
  return statusOf(facts)?.state === 'completed' || facts.events.some(({ type }) => type === 'reply')
}

/** What has no status changed just now, later than every moment that a test asks for. */
function changed(facts: ModelTask): number {
  return Date.parse(statusOf(facts)?.timestamp ?? '9999-12-31T00:00:00Z')
}
