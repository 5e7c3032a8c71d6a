import { nextTurn } from '../../base/clock.ts'
import type { TaskEvent } from '../../protocol/events.ts'
import type { Created } from '../../tasks/log.ts'

type StoredTask = Extract<Created, { readonly type: 'stored' }>

/**
 * A new task that is stored together with the first events of its run: a short turn costs one write instead of two. The
 * write begins when an event ends or pauses the turn, when code waits for it, or in the next turn of the event loop.
 * A class, because there is one for every message that creates a task.
 */
export class TaskCreation {
  readonly #events: readonly TaskEvent[]
  readonly #create: (events: readonly TaskEvent[]) => Promise<Created>
  readonly #due = Promise.withResolvers<void>()
  readonly #stored = Promise.withResolvers<void>()
  #isPending = true
  #isDue = false

  /** `events` precede those of the run. */
  constructor(events: readonly TaskEvent[], create: (events: readonly TaskEvent[]) => Promise<Created>) {
    this.#events = events
    this.#create = create
    beginInNextTurn(this)
  }

  /** Whether `store` was not called yet. */
  get isPending(): boolean {
    return this.#isPending
  }

  /** Resolves when the write begins. */
  get due(): Promise<void> {
    return this.#due.promise
  }

  /** Resolves when the task is stored. Rejects if it could not be stored. */
  get stored(): Promise<void> {
    return this.#stored.promise
  }

  /** Lets the write begin. */
  begin(): void {
    // Resolving a promise again costs Node a call.
    if (this.#isDue) return
    this.#isDue = true
    this.#due.resolve()
  }

  async store(events: readonly TaskEvent[]): Promise<StoredTask> {
    this.#isPending = false
    try {
      const created = await this.#create([...this.#events, ...events])
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
