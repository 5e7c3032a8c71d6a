import { type Clock, sleep } from '../../base/clock.ts'
import type { StoredEvent, TaskEvent } from '../../protocol/events.ts'
import type { Part } from '../../protocol/model.ts'
import {
  endsWithoutSuccess,
  expectedAfter,
  isEnded,
  isInterrupted,
  isOutput,
  type Phase,
  phaseAfter,
  stateOrType,
  submittedBefore,
} from '../../protocol/states.ts'
import type { Appended, TaskLog } from '../../tasks/log.ts'
import type { TaskCreation } from './task-creation.ts'

/** An agent that emits without `await` fills memory. Beyond this many waiting events, it is stopped. */
const maxWaiting = 100_000

const maxBatch = 1_000

/** How much of a task's output may wait to be stored before the agent waits too. */
const maxWindow = { events: 256, characters: 1024 * 1024 }

/** Milliseconds until a failed read of the log is repeated. */
const pauseAfterError = 1_000

const entered = Promise.resolve()

/**
 * When the promises of a turn's output resolve. `window`: when the event is in a bounded window of events that are being
 * stored. `each`: when the event is stored.
 */
export type Durability = 'window' | 'each'

export interface WriterOptions {
  readonly log: TaskLog
  readonly taskId: string
  readonly fence: number
  readonly generation: number
  readonly phase: Phase
  readonly durability: Durability
  /** Set if the task is not stored yet: its first events are stored with it. */
  readonly creation?: TaskCreation | undefined
}

/** What a writer reports to its run. */
export interface WriterOwner {
  /** Receives, in order, the messages and cancellations that other code appended to the log. */
  onExternalEvent(event: TaskEvent, generation: number): void
  /** Changes an event before it is stored, given all external events before it. */
  adjust(event: TaskEvent): TaskEvent
  /** Called after every append. */
  onStored(): void
  /** Another process holds the lease, so this writer stores nothing more; or more than `maxWaiting` events were rejected. */
  stop(reason: 'lease-lost' | 'flooded'): void
  /** The store failed and events are lost. From now on, only the failure or cancellation of the task is stored. */
  onEventsLost(error: unknown): void
}

export interface WatchOptions {
  readonly clock: Clock
  readonly onError: (error: unknown) => void
}

/** The lease is lost: another process has taken over, or the task no longer exists. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/**
 * The only writer of a task's output while its lease lasts. Checks that events may follow each other, and stores them in
 * batches. A class, because there is one for every run.
 */
export class Writer {
  readonly #log: TaskLog
  readonly #taskId: string
  #fence: number
  #creation: TaskCreation | undefined
  readonly #owner: WriterOwner
  readonly #durability: Durability
  readonly #waiting: Emission[] = []
  #syncs: Resolvers[] | undefined
  #leaseLost: LeaseLost | undefined
  /** Why events were lost. Storing later ones would leave a hole in the task. */
  #eventsLost: { readonly error: unknown } | undefined
  #working: Promise<void> | undefined
  #storing: Promise<void> | undefined
  #generation: number
  #phase: Phase
  /** The phase after the events that wait to be stored, if other code appends nothing in between. */
  #expectedPhase: Phase
  /** Events, and their size in characters, that are neither stored nor rejected. */
  #unstored = { events: 0, characters: 0 }

  constructor(options: WriterOptions, owner: WriterOwner) {
    const { log, taskId, fence, generation, phase, durability, creation } = options
    this.#log = log
    this.#taskId = taskId
    this.#fence = fence
    this.#owner = owner
    this.#generation = generation
    this.#phase = phase
    this.#expectedPhase = phase
    this.#durability = durability
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
    if (this.#durability === 'each' || this.#mustBeStored(event)) return this.emit(event)
    const emission = this.post(event)
    const { events, characters } = this.#unstored
    return events <= maxWindow.events && characters <= maxWindow.characters ? entered : emission.stored()
  }

  /** Resolves when the event is stored. Events that wait together are stored together. */
  emit(event: TaskEvent): Promise<void> {
    return this.post(event).stored()
  }

  /** Emits an event that no code waits for, unless it asks the emission. */
  post(event: TaskEvent): Emission {
    const waiting = this.#waiting
    const emission = new Emission(event, sizeOf(event))
    waiting.push(emission)
    this.#unstored.events++
    this.#unstored.characters += emission.size
    const phase = expectedAfter(event, this.#expectedPhase)
    if (phase !== undefined) this.#expectedPhase = phase
    if (this.#creation && (phase === undefined || isEnded(phase) || isInterrupted(phase))) this.#creation.begin()
    if (waiting.length > maxWaiting) {
      const text = `More than ${maxWaiting} events wait to be stored: await what you emit.`
      this.#reject(waiting.splice(0), new Error(text))
      this.#owner.stop('flooded')
    }
    this.#working ??= this.#work()
    return emission
  }

  /** Resolves when every event emitted so far is stored or rejected. Undefined if none is waiting. */
  settled(): Promise<void> | undefined {
    this.#creation?.begin()
    return this.#working
  }

  /** Resolves when every event emitted so far is stored. Rejects if one of them, or an earlier one, could not be stored. */
  async flush(): Promise<void> {
    this.#creation?.begin()
    await this.#creation?.stored.catch(() => {})
    // Not `#working`, which lasts as long as concurrent code emits events.
    const last = this.#waiting.at(-1)
    await (last ? last.stored().catch(() => {}) : this.#storing)
    if (this.#leaseLost) throw this.#leaseLost
    if (this.#eventsLost) throw this.#eventsLost.error
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
      else if (this.#waiting.length > 0 || this.#creation?.isPending) {
        this.#storing = this.#store(this.#waiting.splice(0, maxBatch))
        await this.#storing
      } else break
    }
    this.#storing = undefined
    this.#working = undefined
    this.#expectedPhase = this.#phase
  }

  /** Whether the agent must learn what becomes of the event: it ends or pauses a turn, or is going to be rejected. */
  #mustBeStored(event: TaskEvent): boolean {
    if (this.#leaseLost || this.#eventsLost) return true
    const phase = expectedAfter(event, this.#expectedPhase)
    return phase === undefined || isEnded(phase) || isInterrupted(phase)
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
        if (isOutput(event) && !isAnswered && !this.#eventsLost) this.#loseLease()
        this.#owner.onExternalEvent(event, generation)
        this.#generation = generation
        if (isAnswered) this.#phase = event.status.state
        // Events of this writer may have been stored although the store reported a failure.
        if (this.#eventsLost) this.#phase = phaseAfter(event, this.#phase) ?? this.#phase
      }
    }
  }

  #loseLease(): void {
    if (this.#leaseLost) return
    this.#leaseLost = new LeaseLost(`The lease of task ${this.#taskId} is lost.`)
    this.#owner.stop('lease-lost')
  }

  async #store(batch: readonly Emission[]): Promise<void> {
    try {
      for (;;) {
        if (this.#leaseLost) return this.#reject(batch, this.#leaseLost)
        if (this.#creation && !this.#creation.isPending) return this.#reject(batch)
        const plan = this.#check(batch)
        if (plan.events.length === 0 && !this.#creation) return this.#reject(plan.forbidden)
        const appended = await this.#append(plan.events)
        if (appended.type === 'behind') {
          await this.#catchUp()
        } else if (appended.type === 'stored') {
          this.#generation = appended.generation
          this.#phase = plan.phase
          for (const emission of plan.allowed) this.#settle(emission).resolve()
          this.#owner.onStored()
          return this.#reject(plan.forbidden)
        } else this.#loseLease()
      }
    } catch (error) {
      // The agent gets the error, but may ignore it; the owner does not. The lease expires if the store does not recover.
      for (const emission of batch) this.#settle(emission).reject(error)
      if (this.#eventsLost) return
      this.#eventsLost = { error }
      this.#owner.onEventsLost(error)
    }
  }

  /** Not async: most tasks are stored by their first append. */
  #append(events: readonly TaskEvent[]): Promise<Appended> {
    if (this.#creation) return this.#create(this.#creation, events)
    return this.#log.append(this.#taskId, this.#generation, events, { fence: this.#fence })
  }

  async #create(creation: TaskCreation, events: readonly TaskEvent[]): Promise<Appended> {
    const created = await creation.store(events)
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
        events.push(this.#owner.adjust(submitted))
      }
      const event = this.#owner.adjust(emission.event)
      const phase = this.#eventsLost && !endsWithoutSuccess(event) ? undefined : phaseAfter(event, next)
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

  #reject(batch: readonly Emission[], reason?: Error): void {
    const cause = reason ?? this.#eventsLost?.error
    for (const emission of batch) {
      const text = `"${stateOrType(emission.event)}" cannot follow "${this.#phase}" in task ${this.#taskId}.`
      this.#settle(emission).reject(cause ?? new Error(text))
    }
  }

  /** Removes an emission from the window. */
  #settle(emission: Emission): Emission {
    this.#unstored.events--
    this.#unstored.characters -= emission.size
    return emission
  }
}

/** An event until it is stored or rejected. A promise costs more than the event, and few are waited for. */
export class Emission {
  readonly event: TaskEvent
  /** In characters. */
  readonly size: number
  #waiter: PromiseWithResolvers<void> | undefined
  #outcome: Promise<void> | undefined

  constructor(event: TaskEvent, size: number) {
    this.event = event
    this.size = size
  }

  /** Resolves when the event is stored. Rejects if it could not be stored. */
  stored(): Promise<void> {
    if (this.#outcome) return this.#outcome
    this.#waiter ??= Promise.withResolvers<void>()
    return this.#waiter.promise
  }

  resolve(): void {
    this.#outcome = entered
    this.#waiter?.resolve()
  }

  reject(reason: unknown): void {
    this.#outcome = this.#waiter?.promise ?? Promise.reject(reason)
    // An agent that does not await the event must not crash the process by an unhandled rejection.
    this.#outcome.catch(() => {})
    this.#waiter?.reject(reason)
  }
}

interface Resolvers {
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/** The size of the content of an event in characters, without its ids and metadata. */
function sizeOf(event: TaskEvent): number {
  if (event.type === 'artifact') return sizeOfParts(event.artifact.parts)
  return event.type === 'status' && event.status.message ? sizeOfParts(event.status.message.parts) : 0
}

function sizeOfParts(parts: readonly Part[]): number {
  let size = 0
  for (const part of parts) {
    if ('text' in part) size += part.text.length
    else if ('raw' in part) size += part.raw.length
    else if ('data' in part) size += JSON.stringify(part.data).length
  }
  return size
}
