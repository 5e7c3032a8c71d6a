import { taskExpired, taskNotFound } from '../protocol/errors.ts'
import type { TaskEvent } from '../protocol/events.ts'
import type { TaskState } from '../protocol/model.ts'
import type { TaskAddress } from '../protocol/service.ts'
import { isTask } from '../protocol/states.ts'
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

export interface VisibleHead extends TaskHead {
  readonly phase: TaskState
}

/**
 * The log as one caller sees it. Operations get nothing else, so that none of them can ask without saying for whom:
 * a task is found within the caller's scope or not at all, and only what was found or begun can be read on.
 */
export class CallerLog implements Pick<TaskLog, 'head' | 'read' | 'wait' | 'snapshot' | 'keepSnapshot'> {
  readonly owner: string
  readonly #log: TaskLog
  readonly #scope: Scope
  /** What was found or begun last, and before: all that can be read on. */
  #last: string | undefined
  #before: Set<string> | undefined

  constructor(log: TaskLog, scope: Scope) {
    this.owner = scope.owner
    this.#log = log
    this.#scope = scope
  }

  /** Whatever is at the address for this caller, also if it is no task yet, or no more. */
  async find({ taskId, isAlias }: TaskAddress): Promise<TaskHead | undefined> {
    const claimed = isAlias ? await this.#log.claimed(this.owner, aliasKey(taskId)) : undefined
    const head = await this.#log.head(claimed?.taskId ?? taskId, this.#scope)
    // A log that does not heed the scope must not give away anything.
    if (!head || !isWithin(this.#scope, head.owner)) return undefined
    this.#know(head.taskId)
    return head
  }

  /** The task at the address. What is not the caller's does not exist, in the same words. */
  async task(address: TaskAddress): Promise<VisibleHead> {
    const { taskId } = address
    const head = await this.find(address)
    if (!head) throw taskNotFound(taskId)
    const { phase } = head
    if (phase === 'expired') throw taskExpired(taskId, head.changed)
    if (!isTask(phase)) throw taskNotFound(taskId)
    return { ...head, phase }
  }

  /** Whether what belongs to this owner is the caller's to see. */
  canSee(owner: string): boolean {
    return isWithin(this.#scope, owner)
  }

  async list(query: Omit<ListQuery, keyof Scope>) {
    const page = await this.#log.list({ ...query, ...this.#scope })
    for (const { taskId } of page.heads) this.#know(taskId)
    return page
  }

  /** What a key stands for that was claimed in a task of this owner. */
  claimed(owner: string, key: string) {
    return this.#log.claimed(owner, key)
  }

  create(task: NewTask, events: readonly TaskEvent[], options: CreateOptions) {
    this.#know(task.taskId)
    return this.#log.create(task, events, options)
  }

  append(taskId: string, after: number, events: readonly TaskEvent[], options: AppendOptions) {
    this.#requireKnown(taskId)
    return this.#log.append(taskId, after, events, options)
  }

  head(taskId: string) {
    this.#requireKnown(taskId)
    return this.#log.head(taskId)
  }

  read(taskId: string, after: number) {
    this.#requireKnown(taskId)
    return this.#log.read(taskId, after)
  }

  wait(taskId: string, after: number, signal: AbortSignal) {
    this.#requireKnown(taskId)
    return this.#log.wait(taskId, after, signal)
  }

  snapshot(taskId: string) {
    this.#requireKnown(taskId)
    return this.#log.snapshot(taskId)
  }

  keepSnapshot(snapshot: Parameters<TaskLog['keepSnapshot']>[0]) {
    return this.#log.keepSnapshot(snapshot)
  }

  #know(taskId: string): void {
    if (this.#last === taskId) return
    if (this.#last !== undefined) {
      this.#before ??= new Set()
      this.#before.add(this.#last)
    }
    this.#last = taskId
  }

  #requireKnown(taskId: string): void {
    if (this.#last === taskId || this.#before?.has(taskId)) return
    throw new Error('A task was asked for that its caller has neither found nor begun.')
  }
}

/** The key under which a task is known by the id that its caller chose. */
export function aliasKey(alias: string): string {
  return `alias ${alias}`
}
