import { spanIdOf, type Trace, traceIdOf } from '../../base/trace-context.ts'
import type { StoredEvent, TaskEvent } from '../../protocol/events.ts'
import { canTransition, type Phase } from '../../protocol/states.ts'
import type { Telemetry } from '../../protocol/telemetry.ts'
import type { NewTask, TaskLog } from '../../tasks/log.ts'

/** An agent that emits without awaiting fills memory; beyond this many waiting events it is stopped. */
const maxWaiting = 100_000

const maxBatch = 1_000

/** The event as it is told to those who want to know where it is in its trace. */
export function withTraceMetadata(event: TaskEvent, trace: Trace): TaskEvent {
  if (event.type !== 'status' && event.type !== 'artifact') return event
  return { ...event, metadata: { ...event.metadata, traceId: traceIdOf(trace), spanId: spanIdOf(trace) } }
}

export interface EventTelemetry {
  readonly telemetry: Telemetry
  readonly task: NewTask
  readonly traceNow: () => Trace | undefined
}

export interface WriterOptions {
  readonly log: TaskLog
  readonly taskId: string
  readonly fence: number
  readonly generation: number
  readonly phase: Phase
}

/** To whom a writer belongs, and what it tells it. */
export interface WriterOwner {
  /** Others may store messages and wishes to cancel; here they arrive, in order. */
  onExternalEvent(event: TaskEvent, generation: number): void
  /** The last word on an event before it is stored, given all that has arrived by then. */
  adjust(event: TaskEvent): TaskEvent
  /** Called after every append. */
  onStored(): void
  /** Somebody else holds the lease now, so nothing more will be stored here. */
  onLeaseLost(): void
  /** More is emitted without being awaited than can be held; what waited is refused. */
  onFlood(): void
}

/** The lease is gone: another writer has taken over, or the task no longer exists. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
}

/**
 * The one writer of a task as long as its lease lasts. Checks the rules, stores, and tells when it is stored. A class,
 * because there is one for every run.
 */
export class Writer {
  readonly #log: TaskLog
  readonly #taskId: string
  readonly #fence: number
  readonly #owner: WriterOwner
  readonly #waiting: Emission[] = []
  #syncs: Settle[] | undefined
  #lost: LeaseLost | undefined
  #working: Promise<void> | undefined
  #generation: number
  #phase: Phase

  constructor({ log, taskId, fence, generation, phase }: WriterOptions, owner: WriterOwner) {
    this.#log = log
    this.#taskId = taskId
    this.#fence = fence
    this.#owner = owner
    this.#generation = generation
    this.#phase = phase
  }

  get generation(): number {
    return this.#generation
  }

  get phase(): Phase {
    return this.#phase
  }

  /** Resolves when the event is stored. Events that wait together are stored together. */
  emit(event: TaskEvent): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = this.#waiting
    waiting.push({ event, promise, resolve, reject })
    if (waiting.length > maxWaiting) {
      const problem = `More than ${maxWaiting} events wait to be stored: await what you emit.`
      this.#refuse(waiting.splice(0), new Error(problem))
      this.#owner.onFlood()
    }
    this.#working ??= this.#work()
    return promise
  }

  /** Resolves when everything emitted so far is stored or refused; undefined if it is. */
  settled(): Promise<void> | undefined {
    return this.#working
  }

  /** Reads what others have stored since. */
  sync(): Promise<void> {
    this.#syncs ??= []
    const syncs = this.#syncs
    const synced = new Promise<void>((resolve, reject) => syncs.push({ resolve, reject }))
    this.#working ??= this.#work()
    return synced
  }

  /** One thing at a time: what is emitted while an append is under way goes into the next one. */
  async #work(): Promise<void> {
    await undefined // so that what is emitted in one go is stored in one go
    for (;;) {
      if (this.#syncs?.length) await this.#catchUpFor(this.#syncs.splice(0))
      else if (this.#waiting.length > 0) await this.#store(this.#waiting.splice(0, maxBatch))
      else break
    }
    this.#working = undefined
  }

  async #catchUpFor(waiters: readonly Settle[]): Promise<void> {
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
        this.#owner.onExternalEvent(event, generation)
        this.#generation = generation
      }
    }
  }

  async #store(batch: readonly Emission[]): Promise<void> {
    try {
      for (;;) {
        if (this.#lost) return this.#refuse(batch, this.#lost)
        const plan = this.#checked(batch)
        if (plan.events.length === 0) return this.#refuse(plan.forbidden)
        const appended = await this.#log.append(this.#taskId, this.#generation, plan.events, { fence: this.#fence })
        if (appended.type === 'behind') {
          await this.#catchUp()
        } else if (appended.type === 'stored') {
          this.#generation = appended.generation
          this.#phase = plan.phase
          for (const emission of plan.allowed) emission.resolve()
          this.#owner.onStored()
          return this.#refuse(plan.forbidden)
        } else {
          this.#lost = new LeaseLost(`The lease of task ${this.#taskId} is lost.`)
          this.#owner.onLeaseLost()
        }
      }
    } catch (error) {
      // The store failed: the agent hears of it, and the lease runs out if it does not recover.
      for (const emission of batch) disappoint(emission, error)
    }
  }

  /** What of a batch may be stored, given where the task stands now. */
  #checked(batch: readonly Emission[]) {
    let next = this.#phase
    const events: TaskEvent[] = []
    const allowed: Emission[] = []
    const forbidden: Emission[] = []
    for (const emission of batch) {
      const event = this.#owner.adjust(emission.event)
      const to = phaseAfter(event, next)
      if (to === undefined) {
        forbidden.push(emission)
      } else {
        next = to
        events.push(event)
        allowed.push(emission)
      }
    }
    return { events, allowed, forbidden, phase: next }
  }

  #refuse(batch: readonly Emission[], reason?: Error): void {
    for (const emission of batch) {
      const problem = `"${wish(emission.event)}" cannot follow "${this.#phase}" in task ${this.#taskId}.`
      disappoint(emission, reason ?? new Error(problem))
    }
  }
}

/** A writer of which every event is a span, from when it is told until it is stored. */
export class TracedWriter extends Writer {
  readonly #watching: EventTelemetry

  constructor(options: WriterOptions, owner: WriterOwner, watching: EventTelemetry) {
    super(options, owner)
    this.#watching = watching
  }

  override emit(event: TaskEvent): Promise<void> {
    const { type } = event
    if (type !== 'status' && type !== 'artifact' && type !== 'reply') return super.emit(event)
    const { telemetry, task, traceNow } = this.#watching
    const { taskId, contextId } = task
    const state = type === 'status' ? { state: event.status.state } : {}
    const span = telemetry.begin({ type: 'event', event: type, taskId, contextId, ...state }, traceNow())
    const stored = super.emit(event)
    stored.then(
      () => span.end(),
      (error) => span.end(error),
    )
    return stored
  }
}

interface Emission extends Settle {
  readonly event: TaskEvent
  readonly promise: Promise<void>
}

interface Settle {
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

function disappoint({ promise, reject }: Emission, reason: unknown): void {
  // Whoever does not await it shall not be killed by it.
  promise.catch(() => {})
  reject(reason)
}

/** The phase after an event, or undefined if the rules forbid it. */
function phaseAfter(event: TaskEvent, phase: Phase): Phase | undefined {
  switch (event.type) {
    case 'status':
      return canTransition(phase, event.status.state) ? event.status.state : undefined
    case 'reply':
      return canTransition(phase, 'answered') ? 'answered' : undefined
    case 'artifact':
      return canTransition(phase, 'working') && phase !== 'received' ? phase : undefined
    case 'message':
    case 'cancel':
    case 'journal':
      return phase
  }
}

function wish(event: TaskEvent): string {
  return event.type === 'status' ? event.status.state : event.type
}
