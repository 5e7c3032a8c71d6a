import { type AgentEvents, createAgentEvents, type TaskIds } from '../../agent/content.ts'
import { TaskLogger } from '../../base/logger.ts'
import { spanIdOf, type Trace, traceIdOf } from '../../base/trace-context.ts'
import { loggedError } from '../../protocol/errors.ts'
import type { MessageEvent, StatusEvent, StoredEvent, TaskEvent, TraceSize } from '../../protocol/events.ts'
import { usageIn, usageKey } from '../../protocol/extensions/usage.ts'
import { isEnded, isInterrupted, type Phase } from '../../protocol/states.ts'
import { nextSnapshotAfter } from '../../tasks/fold.ts'
import type { NewTask } from '../../tasks/log.ts'
import type { RuntimeSettings } from '../options.ts'
import { MessageQueue, type QueuedMessage } from './message-queue.ts'
import { type Stop, type StopReason, stopText } from './stop.ts'
import { TaskTrace } from './task-trace.ts'

/** The life of a run. It ends in `over`; `stopping` and `leaving` may come before. */
type Life =
  | { readonly type: 'running' }
  /** The task ends when the current turn has. */
  | { readonly type: 'stopping'; readonly reason: StopReason }
  /** The lease is offered to other processes. */
  | { readonly type: 'leaving' }
  /** The lease is released or lost. `failure`: of the store, because of which the task is not idle. */
  | { readonly type: 'over'; readonly failure: unknown }

/** A turn as far as its events and log lines depend on it. */
interface DescribedTurn {
  /** The generation of the message that it answers. */
  readonly generation: number
  readonly trace: Trace | undefined
  readonly addsTraceMetadata: boolean
}

/**
 * What a run knows of its task beside the log: the messages that wait, why it must stop, and who waits for it. The run,
 * its turns and its writer share it; it refers to none of them. A class, because there is one for every run.
 */
export class RunState {
  readonly task: NewTask
  readonly agentEvents: AgentEvents
  readonly idle = new IdleWaiters()
  readonly #firstTrace: Trace | undefined
  readonly #settings: RuntimeSettings
  #life: Life = { type: 'running' }
  /** Created for the first message that waits, or that is waited for. Most runs have none. */
  #queue: MessageQueue | undefined
  /** Stops the turn that executes. */
  #turnStop: Stop | undefined
  /** The turn that executes, or executed last. */
  #turn: DescribedTurn | undefined
  /** The task was paused under this lease. Unless a turn that follows leaves a trace, the task counts as paused. */
  #isPaused = false
  /** A caller has canceled the task: however it is stopped, it ends as canceled. */
  #isCanceled = false
  /** The final status of a stopped task, until it is stored. */
  #finalStatus: StatusEvent | undefined
  /** Why events could not be stored. */
  #storeError: unknown
  /** The generation at which the next snapshot is due. */
  #snapshotAt: number
  /** Created for the first entry. Most runs have none. */
  #taskTrace: TaskTrace | undefined
  #traceSize: TraceSize | undefined

  constructor(
    task: NewTask & TaskIds,
    from: { generation: number; message?: MessageEvent },
    settings: RuntimeSettings,
  ) {
    this.task = task
    this.agentEvents = createAgentEvents(task, settings.clock.now)
    this.#firstTrace = from.message?.trace
    this.#settings = settings
    this.#snapshotAt = nextSnapshotAfter(from.generation)
    if (from.message) this.#keepMetadata(from.message)
  }

  // Messages

  get queue(): MessageQueue {
    this.#queue ??= new MessageQueue()
    return this.#queue
  }

  /** How many messages wait for their turn. */
  get queueLength(): number {
    return this.#queue?.size ?? 0
  }

  /** The highest generation of a message that was taken from the queue. 0 if none was. */
  get taken(): number {
    return this.#queue?.taken ?? 0
  }

  /** Takes the next message that waits. */
  takeMessage(): QueuedMessage | undefined {
    return this.#queue?.take()
  }

  /** Receives, in order, what other code appended to the log. `phase`: before that event. */
  receive({ event, generation }: StoredEvent, phase: Phase): void {
    if (event.type === 'cancel') {
      this.#isCanceled = true
      this.stop('canceled')
    }
    if (event.type === 'status') this.agentEvents.next(event)
    if (event.type !== 'message') return
    this.#keepMetadata(event)
    const wasAwaited = this.queue.push({ event, generation })
    if (this.#settings.whenFull === 'fail' && this.queueLength > this.#settings.queueLimit) this.stop('crowded')
    const isAnswer = wasAwaited || isInterrupted(phase)
    if (!isAnswer && this.#settings.whileBusy === 'interrupt') this.#turnStop?.stop('interrupted')
  }

  // Turns

  get isPaused(): boolean {
    return this.#isPaused
  }

  /** A turn is executing and waits for no message: one that arrives now stays in the queue. */
  get isBusy(): boolean {
    return this.#turnStop !== undefined && !this.#queue?.isAwaited
  }

  /** The position of the current turn in its trace. */
  get trace(): Trace | undefined {
    return this.#turn?.trace
  }

  beginTurn(stop: Stop): void {
    this.#turnStop = stop
  }

  describeTurn(turn: DescribedTurn): void {
    this.#turn = turn
  }

  endTurn(): void {
    this.#turnStop = undefined
  }

  // Stopping

  /** Why the whole run must stop. */
  get stopReason(): StopReason | undefined {
    return this.#life.type === 'stopping' ? this.#life.reason : undefined
  }

  get isLeaving(): boolean {
    return this.#life.type === 'leaving'
  }

  get isOver(): boolean {
    return this.#life.type === 'over'
  }

  /** The failure of the store because of which the run is over before the task is idle. */
  get failure(): unknown {
    return this.#life.type === 'over' ? this.#life.failure : undefined
  }

  /** Why events could not be stored. */
  get storeError(): unknown {
    return this.#storeError
  }

  /** Stops the current turn, and the run after it. `grace`: see `Stop`. */
  stop(reason: StopReason, grace?: number): void {
    if (this.#life.type === 'running') this.#life = { type: 'stopping', reason }
    this.#turnStop?.stop(reason, grace)
  }

  /** The store failed, and events are lost: from now on, only the failure or cancellation of the task is stored. */
  loseEvents(error: unknown, isTaskStored: boolean): void {
    this.#storeError = error
    const text = 'events of a turn could not be stored, so its task fails'
    if (isTaskStored) this.logger().error({ error: loggedError(error) }, text)
    this.stop('events-lost')
  }

  leave(): void {
    this.#life = { type: 'leaving' }
  }

  /** The run is over: what it has not done, the next one reads from the log. */
  end(failure: unknown): void {
    this.#life = { type: 'over', failure }
    this.idle.reach(Number.POSITIVE_INFINITY)
    this.#queue?.clear()
  }

  /** The last status of a task that is stopped. If its caller cancels it before that is stored, it is canceled. */
  finalStatus(reason: StopReason): StatusEvent {
    if (reason === 'canceled') this.#isCanceled = true
    this.#finalStatus = this.agentEvents.status('failed', stopText(reason, this.#settings))
    return this.#finalStatus
  }

  // Events

  /**
   * The form in which an event is stored, given all messages before it. A task with queued messages neither waits for
   * input nor is completed: their turns come first.
   */
  adjust(emitted: TaskEvent): TaskEvent {
    const isCanceled = emitted === this.#finalStatus && this.#isCanceled
    const stored = isCanceled ? this.agentEvents.status('canceled') : emitted
    const { trace, addsTraceMetadata } = this.#turn ?? {}
    const traced = addsTraceMetadata && trace ? withTraceMetadata(stored, trace) : stored
    if (traced.type !== 'status') return traced
    const event = withUsage(this.agentEvents.next(traced))
    const { state } = event.status
    const hasQueued = this.queueLength > 0
    this.#isPaused = isInterrupted(state) && (this.#isPaused || event.pausedUnder !== undefined) && !hasQueued
    if (!hasQueued || (state !== 'completed' && !isInterrupted(state))) return event
    const working = { ...event, status: { ...event.status, state: 'working' } } as const
    const isAnswered = state === 'completed' && this.#settings.recovery.isJournaled
    return isAnswered ? { ...working, answered: Math.max(this.#turn?.generation ?? 0, this.taken) } : working
  }

  /** What the turns of the task do. Undefined if nothing is recorded. */
  get taskTrace(): TaskTrace | undefined {
    const { trace, clock } = this.#settings
    if (!trace) return undefined
    this.#taskTrace ??= new TaskTrace(trace, clock)
    if (this.#traceSize) this.#taskTrace.continueAfter(this.#traceSize)
    return this.#taskTrace
  }

  /** Sets how much of a trace the task has from earlier runs. */
  continueTrace(size: TraceSize | undefined): void {
    this.#traceSize = size
  }

  /** The events of a write, with what the turns did before them. */
  withTrace(events: readonly TaskEvent[]): readonly TaskEvent[] {
    return this.#taskTrace ? this.#taskTrace.attachTo(events) : events
  }

  /** Called after every append, with the generation and the phase that the task has reached. */
  reach(generation: number, phase: Phase): void {
    this.#taskTrace?.settle()
    if (generation >= this.#snapshotAt) {
      this.#snapshotAt = nextSnapshotAfter(generation)
      this.#settings.snapshotQueue.add(this.task)
    }
    if (isEnded(phase) || isInterrupted(phase)) this.idle.reach(generation)
  }

  logger(): TaskLogger {
    return new TaskLogger(this.#settings.logger, this.task, this.trace ?? this.#firstTrace)
  }

  #keepMetadata({ metadata }: MessageEvent): void {
    if (metadata && this.#settings.keepMetadata) this.agentEvents.addTaskMetadata(metadata)
  }
}

/** Callers that wait for a task. */
class IdleWaiters {
  /** The last generation at which callers stop waiting. */
  #idleAt = 0
  #waiters: (() => void)[] | undefined

  /** Resolves when a state beyond that generation is stored at which callers stop waiting, or when the run is over. */
  after(generation: number): Promise<void> {
    if (this.#idleAt > generation) return Promise.resolve()
    this.#waiters ??= []
    const waiters = this.#waiters
    return new Promise((resolve) => waiters.push(resolve))
  }

  reach(generation: number): void {
    this.#idleAt = generation
    const waiters = this.#waiters
    this.#waiters = undefined
    for (const wake of waiters ?? []) wake()
  }
}

/** The last status says what the turn used. The task keeps it in its metadata. */
function withUsage(event: StatusEvent): StatusEvent {
  const usage = usageIn(event.status.taskMetadata)
  if (usage === undefined || !isEnded(event.status.state)) return event
  return { ...event, metadata: { ...event.metadata, [usageKey]: usage } }
}

function withTraceMetadata(event: TaskEvent, trace: Trace): TaskEvent {
  if (event.type !== 'status' && event.type !== 'artifact') return event
  return { ...event, metadata: { ...event.metadata, traceId: traceIdOf(trace), spanId: spanIdOf(trace) } }
}
