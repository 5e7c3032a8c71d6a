import type { StoredEvent, TaskEvent, TraceSize } from '../protocol/events.ts'
import { type Artifact, type Message, type TaskStatus, tenantPrefix } from '../protocol/model.ts'
import type { EndedPhase, Phase } from '../protocol/states.ts'

/** The most that one `read` returns, so that a slow reader holds little memory. */
export const readLimit = { events: 256, bytes: 256 * 1024 }

/** How many times longer than usual a lease may last: processes may have different settings. */
export const clockTolerance = 3

/** The owners whose tasks a policy adds to a caller's own. */
export type VisibleOwners = 'everyone' | { readonly owners?: readonly string[]; readonly tenants?: readonly string[] }

/** The tasks that a caller can see: its own, and those of the owners that a policy adds. */
export interface Scope {
  readonly owner: string
  readonly also?: VisibleOwners
}

/** Whether the tasks of an owner are in a scope. */
export function isWithin({ owner, also }: Scope, taskOwner: string): boolean {
  if (taskOwner === owner) return true
  if (also === undefined) return false
  if (also === 'everyone') return true
  const { owners = [], tenants = [] } = also
  return owners.includes(taskOwner) || tenants.some((tenant) => taskOwner.startsWith(tenantPrefix(tenant)))
}

/** The ids of a task. */
export interface NewTask {
  readonly taskId: string
  readonly contextId: string
  /** The owner of the task, as `ownerOf` returns it. */
  readonly owner: string
}

/** A wish for a lease. */
export interface LeaseRequest {
  /** The process that wants the lease, for operators who look into the store. */
  readonly holder: string
  /** Lifetime in milliseconds. */
  readonly ttl: number
}

/** A key under which a message is stored at most once. */
export interface Claim {
  readonly key: string
  /** A hash of the request. Another digest under the same key is a conflict. */
  readonly digest: string
}

/** What `create` stores beside the events. */
export interface CreateOptions {
  readonly lease: LeaseRequest
  /** Claimed for the owner of the task, all or none. */
  readonly claims?: readonly Claim[]
}

/** The exclusive right to write a task, for a time. */
export interface Lease {
  /** Grows with every lease of the task. An append with an older fence is rejected. */
  readonly fence: number
}

/** A lease that was acquired together with an append. */
export interface AcquiredLease extends Lease {
  /** Set if the lease of another holder had expired: it has left the task unfinished. */
  readonly isTakenOver?: true
}

/** The message that was stored under a key. */
export interface ClaimRecord {
  readonly digest: string
  readonly taskId: string
  /** The generation of the message. */
  readonly generation: number
}

/** One of the keys was claimed before. */
export interface AlreadyClaimed {
  readonly type: 'known'
  readonly claimed: ClaimRecord
}

/** How a `create` ended. */
export type Created = { readonly type: 'stored'; readonly generation: number; readonly lease: Lease } | AlreadyClaimed

/** The conditions of an append, and what it stores beside the events. */
export interface AppendOptions {
  /**
   * The fence of the writer's lease. Without one, only `message` and `cancel` events may be appended, and the status that
   * ends a question together with its answer.
   */
  readonly fence?: number
  /** Takes the lease in the same step, if it is free. */
  readonly lease?: LeaseRequest
  readonly claims?: readonly Claim[]
}

/** How an append ended. */
export type Appended =
  | { readonly type: 'stored'; readonly generation: number; readonly lease?: AcquiredLease | undefined }
  /** Another writer appended first. The log is at `generation`. */
  | { readonly type: 'behind'; readonly generation: number }
  /** Another process holds the lease. */
  | { readonly type: 'fenced' }
  /** The task does not exist, or only its tombstone does. */
  | { readonly type: 'gone' }
  | AlreadyClaimed

/** The state of a task without its events. */
export interface TaskHead extends NewTask {
  readonly generation: number
  /** `expired`: only a tombstone is left. */
  readonly phase: Phase | 'expired'
  /** Undefined until the exchange becomes a task. */
  readonly status?: TaskStatus
  /** The dialect of the last message. */
  readonly dialect?: string
  /** Milliseconds since 1970. */
  readonly created: number
  /** When the status last changed, in milliseconds since 1970. */
  readonly changed: number
}

/** A stored fold of all events up to and including `generation`. */
export interface Snapshot extends NewTask {
  readonly generation: number
  /** Missing in snapshots that were stored before tasks had one. */
  readonly revision?: number
  readonly status?: TaskStatus
  readonly artifacts: readonly Artifact[]
  readonly history: readonly Message[]
  /** Undefined if the task has no trace. */
  readonly traceSize?: TraceSize
}

export interface ListCursor {
  readonly changed: number
  readonly key: number
}

/** The tasks of a page. */
export interface ListQuery extends Scope {
  readonly contextId?: string
  readonly phase?: Phase
  /** Milliseconds since 1970, inclusive. */
  readonly changedSince?: number
  /** The `next` of the previous page. */
  readonly cursor?: ListCursor
  readonly limit: number
}

/** A head with its position in the list: with `changed` it is the cursor after it. */
export interface ListedHead extends TaskHead {
  readonly key: number
}

/** A page of tasks, with the number of all that match. */
export interface HeadPage {
  readonly heads: readonly ListedHead[]
  readonly total: number
  readonly next?: ListCursor
}

/** A lease with its task. */
export interface HeldLease extends Lease {
  readonly taskId: string
}

/** The tasks of an owner, of a context, or of an owner in a context. */
export type TaskSelection =
  | { readonly owner: string; readonly contextId?: string }
  | { readonly owner?: string; readonly contextId: string }

/** A task that was erased. */
export interface ErasedTask extends NewTask {
  /** The number of removed events. */
  readonly events: number
  /** The removed webhooks, if the log stores them beside its tasks. */
  readonly webhooks?: readonly { readonly owner: string; readonly id: string }[]
}

/** The store belongs to another agent, which would run the tasks of this one. */
export class ForeignLog extends Error {
  override readonly name = 'ForeignLog'

  /** `store` names the store, `remedy` what to give each agent instead. */
  constructor(store: string, remedy: string, { agent, owner }: { readonly agent: string; readonly owner: string }) {
    super(
      `${store} holds the tasks of the agent "${owner}", and "${agent}" would run them as its own. Give each agent ` +
        `${remedy}. If "${owner}" was renamed, or both share it on purpose, set its option agent to "${owner}".`,
    )
  }
}

/**
 * The source of truth about tasks: an append-only list of numbered events per task.
 *
 * Expected races are returned as values (`behind`, `fenced`, `known`, `gone`), and nothing is stored then. Stored events
 * are durable when the promise resolves.
 */
export interface TaskLog {
  /**
   * Reserves the store for an agent, by its name. Throws or rejects with `ForeignLog` if it belongs to another one: an
   * agent that finds tasks of another in its log would run them.
   */
  reserveFor?(agent: string): void | Promise<void>

  /**
   * The hexadecimal digits at which new ids of tasks and contexts end. Only for a log that has a part of the tasks of an
   * agent: they tell which part.
   */
  idSuffix?(): string

  /** Creates a task with generations 1, 2, …, and leases it to its writer. */
  create(task: NewTask, events: readonly TaskEvent[], options: CreateOptions): Promise<Created>

  /**
   * Appends all events or none as generations `after + 1`, …, if `after` is still the last one. The lease ends with the
   * event that ends the task.
   */
  append(taskId: string, after: number, events: readonly TaskEvent[], options: AppendOptions): Promise<Appended>

  /** Reads the head of a task. With a scope, a task outside of it does not exist. */
  head(taskId: string, scope?: Scope): Promise<TaskHead | undefined>

  /** Reads the events after `after`, oldest first: at least one if there is any, and at most about `readLimit`. */
  read(taskId: string, after: number): Promise<readonly StoredEvent[]>

  /** Resolves when there may be events after `after`, or when the signal aborts. May resolve early, never too late. */
  wait(taskId: string, after: number, signal: AbortSignal): Promise<void>

  /** Reads the newest snapshot of a task, so that folding need not start at the first event. */
  snapshot(taskId: string): Promise<Snapshot | undefined>
  keepSnapshot(snapshot: Snapshot): Promise<void>

  /** Lists the tasks in a scope, newest status first, without exchanges that never became tasks. */
  list(query: ListQuery): Promise<HeadPage>

  /** Finds the message that was stored under a key. */
  claimed(owner: string, key: string): Promise<ClaimRecord | undefined>

  /** Takes the lease if it is free or has expired. Every new lease has a higher fence. */
  acquire(taskId: string, lease: LeaseRequest): Promise<Lease | undefined>
  /** Renews leases. Returns the ids of the tasks whose lease is lost. */
  renew(leases: readonly HeldLease[], ttl: number): Promise<readonly string[]>
  /**
   * Releases the lease, unless there are events after `after`: then it returns `false` and keeps the lease. If no process
   * has taken it by `wakeAt` (milliseconds since 1970), the task becomes an orphan.
   */
  release(taskId: string, fence: number, after: number, wakeAt?: number): Promise<boolean>
  /**
   * Finds tasks that no process works on although one should: their lease has expired, or `wakeAt` has passed. With the
   * usual `ttl` of leases, it also shortens those that last `clockTolerance` times longer: the clock they were taken by
   * was set back since, or was that of another machine.
   */
  orphans(limit: number, ttl?: number): Promise<readonly TaskHead[]>

  /** Removes the content of tasks that ended before that time in one of these phases. Returns how many tombstones it left. */
  expire(endedBefore: number, limit: number, phases?: readonly EndedPhase[]): Promise<number>
  /** Removes the tombstones of tasks that ended before that time, and their claims. Returns how many. */
  forget(endedBefore: number, limit: number): Promise<number>
  /** Removes tasks in any state with everything that belongs to them, without tombstones. Returns them. */
  erase(selection: TaskSelection, limit: number): Promise<readonly ErasedTask[]>

  /** Rejects if the store cannot be read and written at the moment. Missing in logs that are always available. */
  check?(): Promise<void>

  /**
   * Resolves with the reason when the store could not be reached for `patience` milliseconds; stays pending otherwise.
   * Missing in logs that need no connection.
   */
  whenLost?(patience: number, signal: AbortSignal): Promise<Error>

  /**
   * Reads that may be a little behind, from a copy of the store. No result is older than what this process has read or stored.
   * Missing in logs without a copy.
   */
  readonly replica?: Pick<TaskLog, 'head' | 'read' | 'snapshot' | 'list'>

  close(): Promise<void>
}
