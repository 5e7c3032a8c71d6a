import { taskExpired, taskNotFound } from '../protocol/errors.ts'
import type { TaskEvent } from '../protocol/events.ts'
import { newId } from '../protocol/ids.ts'
import type { TaskState } from '../protocol/model.ts'
import type { TaskAddress } from '../protocol/service.ts'
import { isTask } from '../protocol/states.ts'
import type { Push } from '../push/push.ts'
import {
  type AppendOptions,
  type CreateOptions,
  isWithin,
  type ListQuery,
  type NewTask,
  type Scope,
  type TaskHead,
  type TaskLog,
} from '../tasks/log.ts'
import type { RuntimeSettings } from './options.ts'
import type { Runs } from './turns/leased-runs.ts'

/** What an operation works with. It has no access to the whole log, only to the log as its caller sees it. */
export interface OperationContext {
  readonly settings: Omit<RuntimeSettings, 'log'>
  readonly runs: Runs
  /** Undefined if the agent sends no push notifications. */
  readonly push: Push | undefined
  readonly log: CallerLog
  /** Aborts when the server shuts down. */
  readonly closing: AbortSignal
}

export interface VisibleHead extends TaskHead {
  readonly phase: TaskState
}

/**
 * The log as one caller sees it. Operations have no other access to the log: a task is found only within the caller's
 * scope, and only a task that was found or created can be read.
 */
export class CallerLog implements Pick<TaskLog, 'head' | 'read' | 'wait' | 'snapshot' | 'keepSnapshot'> {
  readonly owner: string
  readonly #log: TaskLog
  readonly #scope: Scope
  /** The task that was found or created last, and the ones before it. */
  #last: string | undefined
  #earlier: Set<string> | undefined

  constructor(log: TaskLog, scope: Scope) {
    this.owner = scope.owner
    this.#log = log
    this.#scope = scope
  }

  /** Finds what is at the address for this caller, even if it is not a task yet, or has expired. */
  async find({ taskId, isAlias }: TaskAddress): Promise<TaskHead | undefined> {
    const claim = isAlias ? await this.#log.claimed(this.owner, aliasKey(taskId)) : undefined
    const head = await this.#log.head(claim?.taskId ?? taskId, this.#scope)
    // In case a log ignores the scope.
    if (!head || !isWithin(this.#scope, head.owner)) return undefined
    this.#allow(head.taskId)
    return head
  }

  /** Finds the task at the address. A task outside of the scope gets the same error as one that does not exist. */
  async task(address: TaskAddress): Promise<VisibleHead> {
    const { taskId } = address
    const head = await this.find(address)
    if (!head) throw taskNotFound(taskId)
    const { phase } = head
    if (phase === 'expired') throw taskExpired(taskId, head.changed)
    if (!isTask(phase)) throw taskNotFound(taskId)
    return { ...head, phase }
  }

  /** Whether the caller may see the tasks of this owner. */
  canSee(owner: string): boolean {
    return isWithin(this.#scope, owner)
  }

  async list(query: Omit<ListQuery, keyof Scope>) {
    const page = await this.#log.list({ ...query, ...this.#scope })
    for (const { taskId } of page.heads) this.#allow(taskId)
    return page
  }

  /** Finds the message that was stored under a key. */
  claimed(owner: string, key: string) {
    return this.#log.claimed(owner, key)
  }

  /** A task of this caller with a new id, which is not stored yet. */
  newTask(contextId: string = newId(this.#log.idSuffix?.())): NewTask {
    const taskId = newId(this.#log.idSuffix?.())
    this.#allow(taskId)
    return { taskId, contextId, owner: this.owner }
  }

  create(task: NewTask, events: readonly TaskEvent[], options: CreateOptions) {
    this.#requireAllowed(task.taskId)
    return this.#log.create(task, events, options)
  }

  append(taskId: string, after: number, events: readonly TaskEvent[], options: AppendOptions) {
    this.#requireAllowed(taskId)
    return this.#log.append(taskId, after, events, options)
  }

  release(taskId: string, fence: number, after: number) {
    this.#requireAllowed(taskId)
    return this.#log.release(taskId, fence, after)
  }

  head(taskId: string) {
    this.#requireAllowed(taskId)
    return this.#log.head(taskId)
  }

  read(taskId: string, after: number) {
    this.#requireAllowed(taskId)
    return this.#log.read(taskId, after)
  }

  wait(taskId: string, after: number, signal: AbortSignal) {
    this.#requireAllowed(taskId)
    return this.#log.wait(taskId, after, signal)
  }

  snapshot(taskId: string) {
    this.#requireAllowed(taskId)
    return this.#log.snapshot(taskId)
  }

  keepSnapshot(snapshot: Parameters<TaskLog['keepSnapshot']>[0]) {
    return this.#log.keepSnapshot(snapshot)
  }

  #allow(taskId: string): void {
    if (this.#last === taskId) return
    if (this.#last !== undefined) {
      this.#earlier ??= new Set()
      this.#earlier.add(this.#last)
    }
    this.#last = taskId
  }

  #requireAllowed(taskId: string): void {
    if (this.#last === taskId || this.#earlier?.has(taskId)) return
    throw new Error('CallerLog: a task was read before it was found or created')
  }
}

/** The claim key of the id that a caller chose for its task. */
export function aliasKey(alias: string): string {
  return `alias ${alias}`
}
