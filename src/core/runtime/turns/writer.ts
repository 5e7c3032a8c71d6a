import { type Clock, nextTurn, sleep } from '../../base/clock.ts'
import type { StoredEvent, TaskEvent } from '../../protocol/events.ts'
import {
  endsWithoutSuccess,
  isEnded,
  isInterrupted,
  isOutput,
  type Phase,
  phaseAfter,
  stateOrType,
  submittedBefore,
} from '../../protocol/states.ts'
import type { Appended, TaskLog } from '../../tasks/log.ts'
import type { Durability } from '../options.ts'
import { type Emission, Emissions } from './emissions.ts'
import type { RunState } from './run-state.ts'
import type { TaskCreation } from './task-creation.ts'

/** Milliseconds until a failed read of the log is repeated. */
const pauseAfterError = 1_000

export interface WriterOptions {
  readonly log: TaskLog
  readonly fence: number
  readonly generation: number
  readonly phase: Phase
  readonly durability: Durability
  /** Set if the task is not stored yet: its first events are stored with it. */
  readonly creation?: TaskCreation | undefined
}

export interface WatchOptions {
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/** The lease is lost: another process has taken over, or the task no longer exists. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/** Why a writer stores no more output. A lease may be lost after events, and not the other way round. */
type Loss =
  /** The store failed. Later events would leave a hole in the task: only its failure or cancellation is stored. */
  { readonly type: 'events'; readonly error: unknown } | { readonly type: 'lease'; readonly error: LeaseLost }

/**
 * The only writer of a task's output while its lease lasts. Checks that events may follow each other, stores them in
 * batches, and reads what other code appends to the log into the state of the run. A class, because there is one for
 * every run.
 */
export class Writer {
  readonly #log: TaskLog
  readonly #taskId: string
  readonly #state: RunState
  readonly #durability: Durability
  readonly #emissions: Emissions
  /** Undefined once the task is stored. */
  #creation: TaskCreation | undefined
  #fence: number
  /** The last event that is stored, and the phase after it. */
  #generation: number
  #phase: Phase
  #loss: Loss | undefined
  /** Settles when nothing is left to store or to read. */
  #working: Promise<void> | undefined
  /** Settles when the current batch is stored or rejected. */
  #storing: Promise<void> | undefined
  /** Code that waits for what others have appended. */
  #syncs: Resolvers[] | undefined

  constructor(options: WriterOptions, state: RunState) {
    const { log, fence, generation, phase, durability, creation } = options
    this.#log = log
    this.#taskId = state.task.taskId
    this.#state = state
    this.#durability = durability
    this.#emissions = new Emissions(phase)
    this.#fence = fence
    this.#generation = generation
    this.#phase = phase
    if (!creation) return
    this.#creation = creation
    this.#working = this.#work()
  }

  /** Whether the task is stored, and the lease on it held. */
  get isStored(): boolean {
    return this.#creation === undefined
  }

  get fence(): number {
    return this.#fence
  }

  get generation(): number {
    return this.#generation
  }

  get phase(): Phase {
    return this.#phase
  }

  /**
   * Emits output of the agent. Resolves when the event is in the window, so that an agent which awaits every event does
   * not wait for the store every time. Beyond the window, and for events that end or pause a turn, it resolves when the
   * event is stored. If an event in the window cannot be stored, the next one is rejected.
   */
  write(event: TaskEvent): Promise<void> {
    // The agent must learn what becomes of an event that ends or pauses a turn, or that is going to be rejected.
    const mustBeStored = this.#durability === 'each' || this.#loss || this.#emissions.isDecisive(event)
    if (mustBeStored) return this.emit(event)
    return this.#emissions.enter(this.post(event))
  }

  /** Resolves when the event is stored. Events that wait together are stored together. */
  emit(event: TaskEvent): Promise<void> {
    return this.post(event).stored()
  }

  /** Emits an event that no code waits for, unless it asks the emission. */
  post(event: TaskEvent): Emission {
    const emissions = this.#emissions
    if (this.#creation && emissions.isDecisive(event)) this.#creation.begin()
    const emission = emissions.add(event)
    const flood = emissions.takeFlood()
    if (flood) {
      this.#reject(flood.batch, new Error(flood.text))
      this.#state.stop('flooded')
    }
    this.#working ??= this.#work()
    return emission
  }

  /** Resolves when every event emitted so far is stored or rejected. Undefined if none is waiting. */
  settled(): Promise<void> | undefined {
    this.#creation?.begin()
    return this.#working
  }

  /** Resolves when no event waits that decides whether the task has ended or waits for its caller. Undefined if none does. */
  phaseSettled(): Promise<void> | undefined {
    return isOpen(this.#phase) && isOpen(this.#emissions.expectedPhase) ? undefined : this.settled()
  }

  /** Resolves when every event emitted so far is stored. Rejects if one of them, or an earlier one, could not be stored. */
  async flush(): Promise<void> {
    this.#creation?.begin()
    await this.#creation?.stored.catch(() => {})
    // Not `#working`, which lasts as long as concurrent code emits events.
    const { last } = this.#emissions
    await (last ? last.stored().catch(() => {}) : this.#storing)
    if (this.#loss) throw this.#loss.error
  }

  /** Reads the events that other code has appended to the log. */
  sync(): Promise<void> {
    this.#syncs ??= []
    const syncs = this.#syncs
    const synced = new Promise<void>((resolve, reject) => syncs.push({ resolve, reject }))
    this.#working ??= this.#work()
    return synced
  }

  /** Reads what other processes append to the log, until the signal aborts. Never rejects. */
  async watch(signal: AbortSignal, { clock, onError }: WatchOptions): Promise<void> {
    while (!signal.aborted) {
      try {
        const before = this.#generation
        await this.#log.wait(this.#taskId, before, signal)
        await this.settled()
        // If the generation has moved on, the events are of this writer, or it has read the others before its append.
        if (this.#generation === before && !signal.aborted) await this.sync()
      } catch (error) {
        onError(error)
        await sleep(pauseAfterError, signal, clock)
      }
    }
  }

  /** One append at a time: events that are emitted during an append go into the next one. */
  async #work(): Promise<void> {
    await this.#creation?.due // without one, a microtask: events that are emitted synchronously go into one batch
    for (;;) {
      if (this.#syncs?.length && !this.#creation?.isPending) await this.#catchUpFor(this.#syncs.splice(0))
      else if (this.#emissions.isWaiting || this.#creation?.isPending) {
        const { isAwaited } = this.#emissions
        this.#storing = this.#store(this.#emissions.takeBatch())
        await this.#storing
        // The agent fills its window first: otherwise every second write would hold a single event.
        if (isAwaited) await nextTurn()
      } else break
    }
    this.#storing = undefined
    this.#working = undefined
    this.#emissions.finish(this.#phase)
  }

  async #catchUpFor(waiters: readonly Resolvers[]): Promise<void> {
    try {
      await this.#catchUp()
      for (const { resolve } of waiters) resolve()
    } catch (error) {
      for (const { reject } of waiters) reject(error)
    }
  }

  async #catchUp(): Promise<void> {
    for (;;) {
      const stored: readonly StoredEvent[] = await this.#log.read(this.#taskId, this.#generation)
      if (stored.length === 0) return
      for (const { generation, event } of stored) {
        const isAnswered = event.type === 'status' && event.withAnswer
        const mayBeOurs = this.#loss?.type === 'events'
        if (isOutput(event) && !isAnswered && !mayBeOurs) this.#loseLease()
        this.#state.receive({ event, generation }, this.#phase)
        this.#generation = generation
        if (isAnswered) this.#phase = event.status.state
        // Events of this writer may have been stored although the store reported a failure.
        if (mayBeOurs) this.#phase = phaseAfter(event, this.#phase) ?? this.#phase
      }
    }
  }

  /** Another process holds the lease: this writer stores nothing more. */
  #loseLease(): void {
    if (this.#loss?.type === 'lease') return
    this.#loss = { type: 'lease', error: new LeaseLost(`The lease of task ${this.#taskId} is lost.`) }
    this.#state.stop('lease-lost')
  }

  /** The agent gets the error, but may ignore it; the run does not. The lease expires if the store does not recover. */
  #loseEvents(error: unknown): void {
    if (this.#loss) return
    this.#loss = { type: 'events', error }
    this.#state.loseEvents(error, this.isStored)
  }

  async #store(batch: readonly Emission[]): Promise<void> {
    try {
      for (;;) {
        if (this.#loss?.type === 'lease') return this.#reject(batch, this.#loss.error)
        if (this.#creation && !this.#creation.isPending) return this.#reject(batch)
        const plan = this.#check(batch)
        if (plan.events.length === 0 && !this.#creation) return this.#reject(plan.forbidden)
        const appended = await this.#append(this.#state.withTrace(plan.events))
        if (appended.type === 'behind') {
          await this.#catchUp()
        } else if (appended.type === 'stored') {
          this.#generation = appended.generation
          this.#phase = plan.phase
          for (const emission of plan.allowed) this.#settle(emission).resolve()
          this.#state.reach(appended.generation, plan.phase)
          return this.#reject(plan.forbidden)
        } else this.#loseLease()
      }
    } catch (error) {
      for (const emission of batch) this.#settle(emission).reject(error)
      this.#loseEvents(error)
    }
  }

  /** Not async: most tasks are stored by their first append. */
  #append(events: readonly TaskEvent[]): Promise<Appended> {
    if (this.#creation) return this.#create(this.#creation, events)
    return this.#log.append(this.#taskId, this.#generation, events, { fence: this.#fence })
  }

  async #create(creation: TaskCreation, events: readonly TaskEvent[]): Promise<Appended> {
    const created = await creation.store(this.#log, events)
    this.#creation = undefined
    this.#fence = created.lease.fence
    return created
  }

  /** Splits a batch into allowed and forbidden events, given the current phase. */
  #check(batch: readonly Emission[]) {
    let next = this.#phase
    const events: TaskEvent[] = []
    const allowed: Emission[] = []
    const forbidden: Emission[] = []
    for (const emission of batch) {
      const submitted = submittedBefore(emission.event, next)
      if (submitted) {
        next = 'submitted'
        events.push(this.#state.adjust(submitted))
      }
      const event = this.#state.adjust(emission.event)
      const phase = this.#loss && !endsWithoutSuccess(event) ? undefined : phaseAfter(event, next)
      if (phase === undefined) {
        forbidden.push(emission)
      } else {
        next = phase
        events.push(event)
        allowed.push(emission)
      }
    }
    return { events, allowed, forbidden, phase: next }
  }

  #reject(batch: readonly Emission[], reason = this.#loss?.error): void {
    for (const emission of batch) {
      const text = `"${stateOrType(emission.event)}" cannot follow "${this.#phase}" in task ${this.#taskId}.`
      this.#settle(emission).reject(reason ?? new Error(text))
    }
  }

  /** Removes an emission from the window. */
  #settle(emission: Emission): Emission {
    this.#emissions.remove(emission)
    return emission
  }
}

function isOpen(phase: Phase): boolean {
  return !isEnded(phase) && !isInterrupted(phase)
}

interface Resolvers {
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}
