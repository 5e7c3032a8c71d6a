import type { Clock } from '../protocol/clock.ts'
import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { isEnded } from '../protocol/states.ts'
import { advance, type Standing } from './advance.ts'
import type { Claim, Claimed, Lease, LeaseRequest, NewTask, Snapshot } from './log.ts'

export interface Entry {
  readonly task: NewTask
  readonly created: number
  standing: Standing
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

export interface ShelfOptions {
  /** How many ended tasks are kept, and as many tombstones. */
  readonly keepEnded: number
  readonly clock: Clock
  /** Something of the task was stored. */
  readonly onChange: (taskId: string) => void
}

export interface Shelf {
  readonly tasks: Map<string, Entry>
  /** In the order of their end: the oldest first. */
  readonly ended: Set<Entry>
  readonly tombstones: Set<Entry>
  claim(entry: Entry, generation: number, made?: readonly Claim[]): void
  /** Who has the first of these keys that somebody has. */
  known(owner: string, wanted?: readonly Claim[]): Claimed | undefined
  claimed(owner: string, key: string): Claimed | undefined
  /** The generation of the last of them. */
  store(entry: Entry, events: readonly TaskEvent[]): number
  grant(entry: Entry, lease: LeaseRequest): Lease | undefined
  /** Leaves only a tombstone of it. */
  bury(entry: Entry): void
  remove(entry: Entry): void
}

/** The tasks of a memory log, with who claimed which key, and room for so many that have ended. */
export function createShelf({ keepEnded, clock, onChange }: ShelfOptions): Shelf {
  const tasks = new Map<string, Entry>()
  const claims = new Map<string, Claimed>()
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

  function known(owner: string, wanted: readonly Claim[] = []): Claimed | undefined {
    for (const { key } of wanted) {
      const found = claims.get(claimKey(owner, key))
      if (found) return found
    }
    return undefined
  }

  function store(entry: Entry, events: readonly TaskEvent[]): number {
    for (const event of events) entry.events.push({ generation: entry.events.length + 1, event })
    entry.standing = advance(entry.standing, events, clock.now)
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

export function isOver({ standing: { phase } }: Entry): boolean {
  return phase === 'expired' || isEnded(phase)
}

function claimKey(owner: string, key: string): string {
  return `${owner.length} ${owner} ${key}`
}
