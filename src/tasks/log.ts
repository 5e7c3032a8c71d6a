import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import type { Artifact, Message, TaskStatus } from '../protocol/model.ts'
import { tenantPrefix } from '../protocol/principal.ts'
import type { EndedPhase, Phase } from '../protocol/states.ts'

/** How much one `read` answers at the most, so that a slow reader holds little. */
export const readLimit = { events: 256, bytes: 256 * 1024 }

export type VisibleOwners = 'everyone' | { readonly owners?: readonly string[]; readonly tenants?: readonly string[] }

/** Whose tasks can be seen: those of one owner, and of whom a policy adds. */
export interface Scope {
  readonly owner: string
  readonly also?: VisibleOwners
}

/** Whether what belongs to this owner can be seen. */
export function isWithin({ owner, also }: Scope, asked: string): boolean {
  if (asked === owner) return true
  if (also === undefined) return false
  if (also === 'everyone') return true
  const { owners = [], tenants = [] } = also
  return owners.includes(asked) || tenants.some((tenant) => asked.startsWith(tenantPrefix(tenant)))
}

export interface NewTask {
  readonly taskId: string
  readonly contextId: string
  /** Whose task it is: see `ownerOf`. */
  readonly owner: string
}

export interface LeaseRequest {
  /** Who wants it, for people who look into the store. */
  readonly holder: string
  /** Milliseconds. */
  readonly ttl: number
}

/** A key under which one caller's message is stored at most once. */
export interface Claim {
  readonly key: string
  /** Tells the same request from another one. */
  readonly digest: string
}

export interface CreateOptions {
  readonly lease: LeaseRequest
  /** Claimed for the task's owner, all of them or none. */
  readonly claims?: readonly Claim[]
}

export interface Lease {
  /** Grows with every lease of this task; an append with an old one is refused. */
  readonly fence: number
}

export interface ClaimRecord {
  readonly digest: string
  readonly taskId: string
  /** The generation of the message that was stored under the key. */
  readonly generation: number
}

export interface AlreadyClaimed {
  readonly type: 'known'
  readonly claimed: ClaimRecord
}

export type Created = { readonly type: 'stored'; readonly generation: number; readonly lease: Lease } | AlreadyClaimed

export interface AppendOptions {
  /** The writer's fence. Without one only a caller's `message` and `cancel` may be appended. */
  readonly fence?: number
  /** Take the lease in the same step if it is free. */
  readonly lease?: LeaseRequest
  readonly claims?: readonly Claim[]
}

export type Appended =
  | { readonly type: 'stored'; readonly generation: number; readonly lease?: Lease }
  /** Somebody else appended first; the log is at `generation`. */
  | { readonly type: 'behind'; readonly generation: number }
  /** The lease belongs to somebody else by now. */
  | { readonly type: 'fenced' }
  /** There is no such task, or only its tombstone. */
  | { readonly type: 'gone' }
  | AlreadyClaimed

export interface TaskHead extends NewTask {
  readonly generation: number
  /** `expired`: a tombstone is all that is left. */
  readonly phase: Phase | 'expired'
  /** There is none before the agent made a task of it. */
  readonly status?: TaskStatus
  /** The dialect of the last message in it. */
  readonly dialect?: string
  /** Milliseconds since 1970: when it was created, and when its status last changed. */
  readonly created: number
  readonly changed: number
}

/** A fold that was kept: everything up to and including `generation`. */
export interface Snapshot extends NewTask {
  readonly generation: number
  readonly status?: TaskStatus
  readonly artifacts: readonly Artifact[]
  readonly history: readonly Message[]
}

export interface ListCursor {
  readonly changed: number
  readonly key: number
}

export interface ListQuery extends Scope {
  readonly contextId?: string
  readonly phase?: Phase
  /** Milliseconds since 1970, inclusive. */
  readonly changedSince?: number
  /** The `next` of the page before. */
  readonly cursor?: ListCursor
  readonly limit: number
}

export interface HeadPage {
  readonly heads: readonly TaskHead[]
  readonly total: number
  readonly next?: ListCursor
}

export interface HeldLease extends Lease {
  readonly taskId: string
}

/** Tasks of an owner, of a context, or both. */
export type TaskSelection =
  | { readonly owner: string; readonly contextId?: string }
  | { readonly owner?: string; readonly contextId: string }

export interface ErasedTask extends NewTask {
  /** How many events of it were removed. */
  readonly events: number
  /** Webhooks of it that were removed in the same go, by a log that keeps them beside its tasks. */
  readonly webhooks?: readonly { readonly owner: string; readonly id: string }[]
}

/**
 * The one source of truth about tasks: an append-only list of numbered events per task.
 *
 * Expected races are answered as values (`behind`, `fenced`, `known`, `gone`), and nothing is stored then. What is
 * stored is durable when the promise resolves.
 */
export interface TaskLog {
  /** Begins a task with generations 1, 2, … and leases it to its writer. */
  create(task: NewTask, events: readonly TaskEvent[], options: CreateOptions): Promise<Created>

  /**
   * Appends all events or none as generations `after + 1`, …, if `after` is still the last one.
   * The lease ends with the event that ends the task.
   */
  append(taskId: string, after: number, events: readonly TaskEvent[], options: AppendOptions): Promise<Appended>

  /** Where a task stands, without its events. With a scope: as if there were none but those within it. */
  head(taskId: string, scope?: Scope): Promise<TaskHead | undefined>

  /** What is stored beyond `after`, oldest first: at least one event if there is any, at most about `readLimit`. */
  read(taskId: string, after: number): Promise<readonly StoredEvent[]>

  /** Resolves once something beyond `after` may be there, or the signal aborts. May wake early, never too late. */
  wait(taskId: string, after: number, signal: AbortSignal): Promise<void>

  /** The newest kept fold of a task, so that reading it need not start at its first event. */
  snapshot(taskId: string): Promise<Snapshot | undefined>
  keepSnapshot(snapshot: Snapshot): Promise<void>

  /** The tasks within a scope, newest status first. Exchanges that never became tasks are not among them. */
  list(query: ListQuery): Promise<HeadPage>

  /** What a claimed key stands for. */
  claimed(owner: string, key: string): Promise<ClaimRecord | undefined>

  /** Takes the lease if nobody holds it or it has run out. Every new lease has a higher fence. */
  acquire(taskId: string, lease: LeaseRequest): Promise<Lease | undefined>
  /** Prolongs leases; answers the ids of those tasks whose lease is lost. */
  renew(leases: readonly HeldLease[], ttl: number): Promise<readonly string[]>
  /**
   * Gives the lease back, unless something beyond `after` was stored meanwhile: then `false`, and it is kept. Whoever
   * wants it can take it at once; if nobody has until `wakeAt` (milliseconds since 1970), the task is an orphan then.
   */
  release(taskId: string, fence: number, after: number, wakeAt?: number): Promise<boolean>
  /** Tasks whose lease has run out, or whose moment has come: nobody works on them, and somebody should. */
  orphans(limit: number): Promise<readonly TaskHead[]>

  /** Removes the content of what ended before that moment, in one of these phases, leaving tombstones; answers how many. */
  expire(endedBefore: number, limit: number, phases?: readonly EndedPhase[]): Promise<number>
  /** Removes the tombstones of what ended before that moment, and the keys they claimed; answers how many. */
  forget(endedBefore: number, limit: number): Promise<number>
  /** Removes tasks with all that belongs to them, whatever their state, and leaves no tombstones; answers which. */
  erase(whose: TaskSelection, limit: number): Promise<readonly ErasedTask[]>

  close(): Promise<void>
}
