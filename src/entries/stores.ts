/** What a store of your own is made of: the interface of a task log, and the rules that all task logs share. */

export type { LimitStore } from '../core/limits/limit-store.ts'
export type { StoredEvent, TaskEvent } from '../core/protocol/events.ts'
export { type EndedPhase, isEnded, type Phase } from '../core/protocol/states.ts'
export type { NewWebhook, PushStore, StoredWebhook, Webhook } from '../core/push/store.ts'
export { advanceHead, type HeadState, initialHead } from '../core/tasks/fold.ts'
export { createWakeups, type Wakeups } from '../core/tasks/follow.ts'
export {
  type Appended,
  type AppendOptions,
  type Claim,
  type ClaimRecord,
  type Created,
  type CreateOptions,
  type ErasedTask,
  ForeignLog,
  type HeadPage,
  type HeldLease,
  isWithin,
  type Lease,
  type LeaseRequest,
  type ListQuery,
  type NewTask,
  readLimit,
  type Scope,
  type Snapshot,
  type TaskHead,
  type TaskLog,
  type TaskSelection,
} from '../core/tasks/log.ts'
export type { LogWithOperator, OperatorLog } from '../core/tasks/operator-log.ts'
export type { RegistryStore } from '../registry/entry.ts'
