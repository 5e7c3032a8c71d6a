import type { StoredEvent } from '../../core/protocol/events.ts'
import type { EndedPhase } from '../../core/protocol/states.ts'
import type { PushStore } from '../../core/push/store.ts'
import type {
  Appended,
  ClaimRecord,
  Created,
  ErasedTask,
  HeadPage,
  HeldLease,
  Lease,
  LeaseRequest,
  ListQuery,
  NewTask,
  Scope,
  Snapshot,
  TaskHead,
  TaskSelection,
} from '../../core/tasks/log.ts'
import type { OperatorLog } from '../../core/tasks/operator-log.ts'
import type { Database } from './database.ts'
import type { LogAdmin } from './log-admin.ts'
import type { Write } from './write-batches.ts'

/** The statements of a task log in a database on a server. They run once; `createServerLog` repeats and batches them. */
export interface LogEngine {
  readonly db: Database
  /** The task log and where it is, for errors: "The task log in schema parley of PostgreSQL". */
  readonly subject: string
  /** What to give each agent instead of a log that another one uses: "its own schema". */
  readonly ownPlace: string
  readonly createAll: CreateAll
  readonly appendAll: AppendAll
  readonly appendByWriter: AppendByWriter
  readonly events: Events
  readonly snapshots: Snapshots
  readonly findGenerations: FindGenerations
  readonly findHead: (taskId: string, scope?: Scope) => Promise<TaskHead | undefined>
  readonly listHeads: (query: ListQuery) => Promise<HeadPage>
  readonly findClaim: (owner: string, key: string) => Promise<ClaimRecord | undefined>
  readonly leases: Leases
  readonly retention: Retention
  /** Reserves the log for an agent, unless it belongs to another one. Returns the name of its agent. */
  readonly reserve: (agent: string) => Promise<string>
  /** Rejects if the database cannot be written. Changes nothing. */
  readonly check: () => Promise<unknown>
  readonly webhooks: (query: RunWork) => PushStore
  readonly operator: (query: RunWork) => OperatorLog
  readonly admin: Pick<LogAdmin, 'stats' | 'checkIntegrity'>
}

/** Runs idempotent work while the log is open, and repeats it while the database is unreachable. */
export type RunWork = <T>(run: () => Promise<T>) => Promise<T>

export interface Append extends Write {
  readonly fence?: number
  readonly lease?: LeaseRequest
}

/** Stores appends to different tasks together. Each is stored or refused independently. */
export type AppendAll = (appends: readonly Append[], notification: string) => Promise<readonly Appended[]>

/**
 * The fast path for the events of turns: appends them and does little else. Returns for each append whether it was
 * stored; if not, the row was not as expected, and `AppendAll` finds out why.
 */
export type AppendByWriter = (appends: readonly Append[], notification: string) => Promise<readonly boolean[]>

export interface Create extends Write {
  readonly task: NewTask
  readonly lease: LeaseRequest
}

/** The task id is already in use. */
export interface TaskExists {
  readonly type: 'exists'
}

/** Creates several tasks together. Each is stored or refused independently. */
export type CreateAll = (creates: readonly Create[], notification: string) => Promise<readonly (Created | TaskExists)[]>

/** The generations of those of the tasks that exist. */
export type FindGenerations = (taskIds: readonly string[]) => Promise<ReadonlyMap<string, number>>

export interface Events {
  /** Events after a generation, and the generation of the task at that time; undefined if there are no such events. */
  read(taskId: string, after: number): Promise<{ readonly page: readonly StoredEvent[]; readonly last?: number }>
  /** Looks up a write whose response was lost; returns the fence of its events if it was stored. */
  find(write: Write): Promise<StoredWrite | undefined>
}

/** A write that was stored although its response was lost. */
export interface StoredWrite {
  readonly fence: number | null
  /** Whether the write took over the lease of another holder. */
  readonly isTakenOver: boolean
}

export interface Snapshots {
  newest(taskId: string): Promise<Snapshot | undefined>
  keep(snapshot: Snapshot): Promise<void>
}

/**
 * Leases are columns of the task row: `fence`, `lease_until` and `lease_holder`. They run by the clock of the database,
 * which all replicas share. If that is set back, the leases before it would last too long, so they are shortened. See
 * `TaskLog` for each method.
 */
export interface Leases {
  acquire(taskId: string, request: LeaseRequest): Promise<Lease | undefined>
  renew(leases: readonly HeldLease[], ttl: number): Promise<readonly string[]>
  release(taskId: string, fence: number, after: number, wakeAt?: number): Promise<boolean>
  orphans(limit: number, ttl?: number): Promise<readonly TaskHead[]>
}

/** Each method returns the tasks that it changed. Rows that another replica is removing are skipped. */
export interface Retention {
  expire(endedBefore: number, limit: number, phases?: readonly EndedPhase[]): Promise<readonly string[]>
  forget(endedBefore: number, limit: number): Promise<readonly string[]>
  /** Retries by itself, unlike the other methods. */
  erase(selection: TaskSelection, limit: number): Promise<readonly ErasedTask[]>
}
