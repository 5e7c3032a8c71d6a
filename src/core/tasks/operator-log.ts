import type { OperatorState } from '../base/operator-state.ts'
import type { MessageEvent, StoredEvent } from '../protocol/events.ts'
import { requestedSkill } from '../protocol/extensions/typed-skills.ts'
import { tenantPrefix } from '../protocol/model.ts'
import { endedPhases, type Phase } from '../protocol/states.ts'
import type { ListCursor, ListedHead, TaskLog } from './log.ts'

/** How many matching tasks are counted at most. */
export const maxCounted = 10_000

/** Longest name of a skill that is stored beside a task. */
const maxSkillLength = 200

/** The phases in which a process works on a task. Such a task is stuck if no live process does. */
export const activePhases = ['received', 'submitted', 'working'] as const satisfies readonly Phase[]

/** All phases in which a task has content. */
export const contentPhases = [
  ...activePhases,
  'input-required',
  'auth-required',
  ...endedPhases,
] as const satisfies readonly Phase[]

/** Which tasks an operator wants to see: those of all owners that match every given member. */
export interface OperatorQuery {
  /** Defaults to all phases but `expired`. */
  readonly phases?: readonly (Phase | 'expired')[]
  /** Only tasks that a process should work on, and none does. */
  readonly isStuck?: boolean
  /** The id of the principal, in any tenant. */
  readonly principal?: string
  readonly tenant?: string
  readonly skill?: string
  readonly contextId?: string
  /** A part of a task id, a context id, an owner or a skill, or of the text of the first message in any case (a to z). */
  readonly search?: string
  /** Milliseconds since 1970, inclusive. */
  readonly changedSince?: number
  /** Milliseconds since 1970, exclusive. */
  readonly changedBefore?: number
  readonly cursor?: ListCursor
  readonly limit: number
}

/** How the owners of a tenant begin: its callers, and operators who log in with it. */
export function ownersOfTenant(tenant: string): readonly [string, string] {
  return [tenantPrefix(tenant), `${tenantPrefix('')}${tenantPrefix(tenant)}`]
}

/** A task as an operator sees it. */
export interface OperatorTask extends ListedHead {
  /** The skill that its first message names. */
  readonly skill?: string | undefined
  /** The text of its first message, of logs that read it with the task. In others, its first event has it. */
  readonly request?: string | undefined
  /** The process that works on it. `expires` is in milliseconds since 1970, by the clock of this machine. */
  readonly lease?: { readonly holder: string; readonly expires: number } | undefined
}

export interface OperatorPage {
  readonly tasks: readonly OperatorTask[]
  /** How many tasks match, counted up to `maxCounted`. */
  readonly total: number
  readonly next?: ListCursor | undefined
  /** Why tasks are missing, or are not counted in `total`: a clause about the agent. */
  readonly incomplete?: string | undefined
}

/** An event with the time at which it was stored, in milliseconds since 1970. */
export interface TimedEvent extends StoredEvent {
  /** Undefined for events from before times were stored. */
  readonly at?: number | undefined
}

export interface TaskCounts {
  readonly phases: Readonly<Partial<Record<Phase | 'expired', number>>>
  readonly stuck: number
  /** Live leases of all processes. */
  readonly leases: number
  /** Size of the store in bytes, with everything in it. */
  readonly bytes?: number
}

/** A task in the order of its last change. */
export interface TaskActivity {
  readonly key: number
  readonly created: number
  readonly changed: number
}

/** What happened within one minute. */
export interface MinuteSummary {
  /** The beginning of the minute, in milliseconds since 1970. */
  readonly minute: number
  readonly started: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  /** How many ended tasks took how long, by the number of a bucket. */
  readonly durations: Readonly<Record<string, number>>
}

/** What operators read from a task log: tasks of all owners, times, counts, the history of both, and what they share. */
export interface OperatorLog extends OperatorState {
  /** The kind of the store, for people. */
  readonly kind: string
  /** Lists tasks of all owners, newest change first, including exchanges that never became tasks. */
  tasks(query: OperatorQuery): Promise<OperatorPage>
  /** Reads one task, in any phase. */
  task(taskId: string): Promise<OperatorTask | undefined>
  /** Reads events after `after`, oldest first: at least one if there is any, and fewer than `limit` if they are large. */
  events(taskId: string, after: number, limit: number): Promise<readonly TimedEvent[]>
  counts(): Promise<TaskCounts>
  /** Reads the tasks in a phase that changed after a position, oldest change first. */
  activity(phase: Phase, after: ListCursor, limit: number): Promise<readonly TaskActivity[]>
  /** Reads the stored minutes from that time on, oldest first. */
  minutes(from: number): Promise<readonly MinuteSummary[]>
  /** Stores minutes, unless another replica has stored them, and removes those before `removeBefore`. */
  keepMinutes(minutes: readonly MinuteSummary[], removeBefore: number): Promise<void>
}

/** The part of a task log that operators need. Without `operator`, the console shows no tasks. */
export type LogWithOperator = Pick<TaskLog, 'wait'> & { readonly operator?: OperatorLog }

/** The skill that the first message of a new task names, if it is a valid name. */
export function skillOfTask(first: Pick<MessageEvent, 'message' | 'metadata'>): string | undefined {
  try {
    const skill = requestedSkill(first)
    return skill !== undefined && skill.length <= maxSkillLength && !/\p{Cc}/u.test(skill) ? skill : undefined
  } catch {
    return undefined // the names in the message contradict each other, and the agent rejects it
  }
}
