import { nextTurn } from '../../base/clock.ts'
import type { TaskEvent } from '../../protocol/events.ts'
import type { Created, LeaseRequest, NewTask, TaskLog } from '../../tasks/log.ts'

type StoredTask = Extract<Created, { readonly type: 'stored' }>

/**
 * A new task that its writer stores together with the first events of its run: a short turn costs one write instead of
 * two. The operation that accepts the message creates it, hands it to the run, and waits until it is stored; the run
 * hands it to its writer, whose first append stores it. The write begins when an event ends or pauses the turn, when code
 * waits for it, or in the next turn of the event loop. A class, because there is one for every message that creates a task.
 */
export class TaskCreation {
  readonly #task: NewTask
  readonly #events: readonly TaskEvent[]
  readonly #lease: LeaseRequest
  readonly #due = Promise.withResolvers<void>()
  #begun: PromiseWithResolvers<void> | undefined
  readonly #stored = Promise.withResolvers<void>()
  /** `waiting` for more events, `due` to be stored with those that are there, or `begun`: the write is on its way. */
  #stage: 'waiting' | 'due' | 'begun' = 'waiting'

  /** `events` precede those of the run. */
  constructor(task: NewTask, events: readonly TaskEvent[], lease: LeaseRequest) {
    this.#task = task
    this.#events = events
    this.#lease = lease
    beginInNextTurn(this)
  }

  /** Whether `store` was not called yet. */
  get isPending(): boolean {
    return this.#stage !== 'begun'
  }

  /** Resolves when the task is to be stored. */
  get due(): Promise<void> {
    return this.#due.promise
  }

  /** Resolves when the write has begun: what is written now is stored after the task. */
  get begun(): Promise<void> {
    this.#begun ??= Promise.withResolvers<void>()
    return this.#begun.promise
  }

  /** Resolves when the task is stored. Rejects if it could not be stored. */
  get stored(): Promise<void> {
    return this.#stored.promise
  }

  /** Lets the write begin. */
  begin(): void {
    // Resolving a promise again costs Node a call.
    if (this.#stage !== 'waiting') return
    this.#stage = 'due'
    this.#due.resolve()
  }

  async store(log: Pick<TaskLog, 'create'>, events: readonly TaskEvent[]): Promise<StoredTask> {
    this.#stage = 'begun'
    try {
      const creating = log.create(this.#task, [...this.#events, ...events], { lease: this.#lease })
      this.#begun?.resolve()
      const created = await creating
      if (created.type === 'known') throw new Error('a task without claims was claimed before')
      this.#stored.resolve()
      return created
    } catch (error) {
      this.#stored.reject(error)
      throw error
    }
  }
}

let unstored: TaskCreation[] = []

/** One callback for all tasks that are created in this turn of the event loop. */
function beginInNextTurn(creation: TaskCreation): void {
  if (unstored.push(creation) === 1) void nextTurn().then(beginAll)
}

function beginAll(): void {
  const creations = unstored
  unstored = []
  for (const creation of creations) creation.begin()
}
