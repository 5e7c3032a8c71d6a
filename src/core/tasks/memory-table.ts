import type { Clock } from '../base/clock.ts'
import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { isEnded } from '../protocol/states.ts'
import { advanceHead, type HeadState } from './fold.ts'
import type { Claim, ClaimRecord, Lease, LeaseRequest, NewTask, Snapshot } from './log.ts'
import { createTaskLists, type TaskLists } from './memory-lists.ts'

/** Bytes of an object without its values, and of one of its members: about what V8 needs. */
const overhead = { object: 40, member: 16 }

/** The depth up to which a value is measured. Deeper values are rejected at the edge. */
const maxDepth = 100

/** A task in memory. */
export interface TaskEntry {
  readonly task: NewTask
  readonly created: number
  head: HeadState
  events: StoredEvent[]
  /** When each event was stored, in milliseconds since 1970. */
  times: number[]
  /** About how many bytes the events and the snapshot take. */
  bytes: number
  readonly claims: string[]
  snapshot?: Snapshot
  /** Orders tasks whose status changed in the same millisecond. */
  readonly key: number
  fence: number
  isHeld: boolean
  /** The process that has, or last had, the lease. */
  holder: string
  /** When the lease expires, by `monotonicOf(clock)`. */
  leaseUntil?: number
  /** When a task without a lease becomes an orphan, in milliseconds since 1970. */
  wakeAt?: number
}

/** A position in a list of tasks, the last changed first. */
export interface TaskPosition {
  readonly changed: number
  readonly key: number
}

/** The tasks that match, the last changed first: one page, how many there are, and where the next page starts. */
export function pageOf(
  tasks: ReadonlyMap<string, TaskEntry>,
  matches: (entry: TaskEntry) => boolean,
  { cursor, limit }: { readonly cursor?: TaskPosition | undefined; readonly limit: number },
) {
  const matching = [...tasks.values()].filter(matches)
  matching.sort((one, other) => other.head.changed - one.head.changed || other.key - one.key)
  const rest = cursor
    ? matching.filter(({ head, key }) => (head.changed - cursor.changed || key - cursor.key) < 0)
    : matching
  const page = rest.slice(0, limit)
  const last = rest.length > limit ? page.at(-1) : undefined
  return { page, total: matching.length, next: last && { changed: last.head.changed, key: last.key } }
}

export interface TaskTableOptions {
  /** How many ended tasks are kept, and as many tombstones. */
  readonly keepEnded: number
  /** About how many bytes the ended tasks may take. */
  readonly keepBytes: number
  readonly clock: Clock
  readonly leaseTime: () => number
  /** Called after events of a task were stored. */
  readonly onChange: (taskId: string) => void
}

export interface TaskTable {
  readonly tasks: Map<string, TaskEntry>
  /** The ended tasks, in the order in which they ended. */
  readonly ended: Set<TaskEntry>
  readonly tombstones: Set<TaskEntry>
  readonly lists: Pick<TaskLists<TaskEntry>, 'page'>
  claim(entry: TaskEntry, generation: number, claims?: readonly Claim[]): void
  /** The record of the first of these keys that is claimed. */
  findClaim(owner: string, claims?: readonly Claim[]): ClaimRecord | undefined
  claimed(owner: string, key: string): ClaimRecord | undefined
  /** Returns the generation of the last event. */
  store(entry: TaskEntry, events: readonly TaskEvent[]): number
  keepSnapshot(entry: TaskEntry, snapshot: Snapshot): void
  grantLease(entry: TaskEntry, lease: LeaseRequest): Lease | undefined
  /** Removes the content of a task. */
  leaveTombstone(entry: TaskEntry): void
  remove(entry: TaskEntry): void
}

/** The tasks and claims of a memory log, with a limit for ended tasks. */
export function createTaskTable({ keepEnded, keepBytes, clock, leaseTime, onChange }: TaskTableOptions): TaskTable {
  const tasks = new Map<string, TaskEntry>()
  const records = new Map<string, ClaimRecord>()
  const ended = new Set<TaskEntry>()
  const tombstones = new Set<TaskEntry>()
  const lists = createTaskLists<TaskEntry>()
  let endedBytes = 0
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
    const now = clock.now()
    for (const event of events) {
      entry.events.push({ generation: entry.events.length + 1, event })
      entry.times.push(now)
      entry.bytes += approximateBytes(event)
    }
    entry.head = advanceHead(entry.head, events, clock.now)
    lists.update(entry)
    if (isOver(entry)) retire(entry)
    onChange(entry.task.taskId)
    return entry.head.generation
  }

  function retire(entry: TaskEntry) {
    entry.leaseUntil = undefined
    entry.wakeAt = undefined
    ended.add(entry)
    endedBytes += entry.bytes
    if (ended.size > keepEnded + burst || endedBytes > keepBytes * 1.1) removeOldest()
  }

  function removeOldest() {
    for (const oldest of ended) {
      // The caller of the task that has just ended must be able to read it, even if it is large.
      const isTooLarge = endedBytes > keepBytes && ended.size > 1
      if (ended.size <= keepEnded && !isTooLarge) break
      leaveTombstone(oldest)
    }
  }

  function keepSnapshot(entry: TaskEntry, snapshot: Snapshot) {
    const bytes = approximateBytes(snapshot) - (entry.snapshot ? approximateBytes(entry.snapshot) : 0)
    entry.snapshot = snapshot
    entry.bytes += bytes
    if (!ended.has(entry)) return
    endedBytes += bytes
    if (endedBytes > keepBytes * 1.1) removeOldest()
  }

  function leaveTombstone(entry: TaskEntry) {
    leaveEnded(entry)
    tombstones.add(entry)
    entry.events = []
    entry.times = []
    entry.bytes = 0
    entry.snapshot = undefined
    entry.head = { ...entry.head, phase: 'expired', status: undefined }
    lists.update(entry)
    if (tombstones.size <= keepEnded + burst) return
    for (const oldest of tombstones) {
      if (tombstones.size <= keepEnded) break
      remove(oldest)
    }
  }

  function leaveEnded(entry: TaskEntry) {
    if (ended.delete(entry)) endedBytes -= entry.bytes
  }

  function remove(entry: TaskEntry) {
    leaveEnded(entry)
    tombstones.delete(entry)
    lists.remove(entry)
    tasks.delete(entry.task.taskId)
    for (const key of entry.claims) records.delete(key)
  }

  function grantLease(entry: TaskEntry, { holder, ttl }: LeaseRequest): Lease | undefined {
    const time = leaseTime()
    if (isOver(entry) || (entry.isHeld && entry.leaseUntil !== undefined && entry.leaseUntil > time)) return undefined
    entry.fence++
    entry.isHeld = true
    entry.holder = holder
    entry.leaseUntil = time + ttl
    entry.wakeAt = undefined
    return { fence: entry.fence }
  }

  return {
    tasks,
    ended,
    tombstones,
    lists,
    claim,
    findClaim,
    store,
    keepSnapshot,
    grantLease,
    leaveTombstone,
    remove,
    claimed: (owner, key) => records.get(claimKeyOf(owner, key)),
  }
}

function claimKeyOf(owner: string, key: string): string {
  return `${owner.length} ${owner} ${key}`
}

/** Whether the task has ended, or is only a tombstone. */
export function isOver({ head: { phase } }: TaskEntry): boolean {
  return phase === 'expired' || isEnded(phase)
}

/**
 * About how many bytes a JSON value takes in memory. Counts one byte per character; V8 needs two if a text has characters
 * beyond Latin-1.
 */
function approximateBytes(value: unknown, depth = 0): number {
  if (typeof value === 'string') return overhead.member + value.length
  if (typeof value !== 'object' || value === null || depth > maxDepth) return overhead.member
  let bytes = overhead.object
  if (Array.isArray(value)) {
    for (const item of value) bytes += approximateBytes(item, depth + 1)
    return bytes
  }
  for (const key in value) {
    bytes += overhead.member + approximateBytes((value as Readonly<Record<string, unknown>>)[key], depth + 1)
  }
  return bytes
}
