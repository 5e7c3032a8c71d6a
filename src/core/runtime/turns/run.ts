import { type AgentEvents, createAgentEvents, type TaskIds } from '../../agent/content.ts'
import { defined } from '../../base/json.ts'
import { isLogged, TaskLogger } from '../../base/logger.ts'
import type { Trace } from '../../base/trace-context.ts'
import { loggedError } from '../../protocol/errors.ts'
import type { JournalEntry, MessageEvent, StatusEvent, TaskEvent } from '../../protocol/events.ts'
import { usageIn, usageKey } from '../../protocol/extensions/usage.ts'
import { isEnded, isInterrupted, type Phase } from '../../protocol/states.ts'
import { nextSnapshotAfter } from '../../tasks/fold.ts'
import type { HeldLease, NewTask } from '../../tasks/log.ts'
import type { RuntimeSettings } from '../options.ts'
import { readJournal } from '../recovery/journal.ts'
import { attemptEntry, type PlannedTurn, planResume } from '../recovery/resume.ts'
import { failedStatus } from './failures.ts'
import { MessageQueue, type QueuedMessage } from './message-queue.ts'
import { deadlineOf, Stop, type StopReason, stopText } from './stop.ts'
import type { TaskCreation } from './task-creation.ts'
import { beginTurnSpan, runInSpan, TracedWriter, withTraceMetadata } from './trace-turn.ts'
import { TurnExecution } from './turn.ts'
import type { PausedTurn } from './turn-scope.ts'
import { LeaseLost, Writer, type WriterOwner } from './writer.ts'

export interface RunOptions {
  readonly task: NewTask & Pick<TaskIds, 'status'>
  readonly fence: number
  readonly generation: number
  readonly phase: Phase
  /** Set if the task is not stored yet. The fence is that of its first lease. */
  readonly creation?: TaskCreation
  /** The message to answer. Without one, the task is resumed: its log says where. */
  readonly message?: QueuedMessage
  /** Milliseconds after which the exchange becomes a task, if it is not one yet. */
  readonly taskAfter?: number
  /** Called when the run is over. */
  readonly onDone?: (() => void) | undefined
}

/**
 * The work on one task in this process, from the message that starts it until the task is idle or has ended. A class,
 * because there is one for every message that creates a task.
 */
export class Run implements WriterOwner {
  readonly #task: NewTask
  readonly #message: QueuedMessage | undefined
  readonly #taskAfter: number
  readonly #settings: RuntimeSettings
  /** Created for the first message that waits, or that is waited for. Most runs have none. */
  #queue: MessageQueue | undefined
  readonly #agentEvents: AgentEvents
  readonly #writer: Writer
  /** Stops the current turn. */
  #turnStop: Stop | undefined
  /** Why the whole run must stop. */
  #stopReason: StopReason | undefined
  /** The last generation at which callers stop waiting. */
  #idleAt = 0
  #idleWaiters: (() => void)[] | undefined
  #watching: AbortController | undefined
  /** The task was paused under this lease. Unless a turn that follows leaves a trace, the task counts as paused. */
  #isPaused = false
  /** A caller has canceled the task: however it is stopped, it ends as canceled. */
  #isCanceled = false
  /** The final status of a stopped task, until it is stored. */
  #finalStatus: StatusEvent | undefined
  #isOver = false
  #isLeaving = false
  /** Why the run could not store its events. */
  #failure: unknown
  /** The generation of the message that the current turn answers. */
  #answering = 0
  /** The generation of the last answered message. */
  #answered = 0
  /** The generation at which the next snapshot is due. */
  #snapshotAt: number
  /** The position of the current turn in its trace. */
  #trace: Trace | undefined
  #addsTraceMetadata = false
  /** Whether the run has lasted for a period after which runs are watched. */
  isAged = false
  /** Resolves when the lease is released or lost. Never rejects. */
  readonly done: Promise<void>

  constructor(options: RunOptions, settings: RuntimeSettings) {
    const { task, fence, generation, phase, creation, message } = options
    this.#task = task
    this.#message = message
    this.#taskAfter = options.taskAfter ?? settings.taskAfter
    this.#settings = settings
    this.#snapshotAt = nextSnapshotAfter(generation)
    this.#agentEvents = createAgentEvents(task, settings.clock.now)
    if (message) this.#keepMetadata(message.event)
    const { log, durability, telemetry } = settings
    const writerOptions = { log, taskId: task.taskId, fence, generation, phase, durability, creation }
    this.#writer = telemetry?.watchesEvents
      ? new TracedWriter(writerOptions, this, { telemetry, task, currentTrace: () => this.#trace })
      : new Writer(writerOptions, this)
    this.done = this.#run()
  }

  /** How many messages wait for their turn. */
  get queueLength(): number {
    return this.#queue?.size ?? 0
  }

  /** The failure of the store because of which the run is over before the task is idle. */
  get failure(): unknown {
    return this.#isOver ? this.#failure : undefined
  }

  /** A turn is executing and waits for no message: one that arrives now stays in the queue. */
  get isBusy(): boolean {
    return this.#turnStop !== undefined && !this.#queue?.isAwaited
  }

  /** The lease to renew. Undefined before the task is stored, and after the run has offered its lease to other processes. */
  get lease(): HeldLease | undefined {
    const { fence, isStored } = this.#writer
    return this.#isLeaving || !isStored ? undefined : { taskId: this.#task.taskId, fence }
  }

  /** `grace`: how long the current turn may take to end, in milliseconds. Defaults to `cancelGrace`. */
  stop(reason: StopReason, grace?: number): void {
    this.#stopReason ??= reason
    this.#turnStop?.stop(reason, grace)
  }

  /** Stops as soon as a turn waits for a message: a runtime that drains accepts none. */
  drain(grace: number): void {
    this.#openQueue().onAwaited(() => this.stop('shutdown', grace))
  }

  /** Reads a message or a cancellation that this process has appended to the log. */
  sync(): void {
    this.#writer
      .sync()
      .catch((error) => this.#logger().error({ error: loggedError(error) }, 'a task could not be read'))
  }

  /** Follows the log, so that the run also gets what other processes append. */
  watch(): void {
    if (this.#watching || this.#isOver) return
    this.#watching = new AbortController()
    const onError = (error: unknown) =>
      this.#logger().error({ error: loggedError(error) }, 'a task could not be watched; it is tried again')
    void this.#writer.watch(this.#watching.signal, { clock: this.#settings.clock, onError })
  }

  /** Resolves when a state beyond that generation is stored at which callers stop waiting, or when the run is over. */
  whenIdle(after: number): Promise<void> {
    if (this.#idleAt > after) return Promise.resolve()
    this.#idleWaiters ??= []
    const waiters = this.#idleWaiters
    return new Promise((resolve) => waiters.push(resolve))
  }

  /** Calls back when the message of that generation is taken from the queue, or the run is over. */
  onDequeued(generation: number, callback: () => void): void {
    if (this.#isOver) callback()
    else this.#openQueue().onTaken(generation, callback)
  }

  /** A task with queued messages neither waits for input nor is completed: their turns come first. */
  adjust(emitted: TaskEvent): TaskEvent {
    const isCanceled = emitted === this.#finalStatus && this.#isCanceled
    const stored = isCanceled ? this.#agentEvents.status('canceled') : emitted
    const traced = this.#addsTraceMetadata && this.#trace ? withTraceMetadata(stored, this.#trace) : stored
    if (traced.type !== 'status') return traced
    const event = withUsage(this.#agentEvents.next(traced))
    const { state } = event.status
    const isIdle = state === 'completed' || isInterrupted(state)
    this.#isPaused = isInterrupted(state) && (this.#isPaused || event.pausedUnder !== undefined) && !this.#queue?.size
    if (!isIdle || !this.#queue?.size) return event
    const working = { ...event, status: { ...event.status, state: 'working' } } as const
    const isAnswered = state === 'completed' && this.#settings.recovery.isJournaled
    return isAnswered ? { ...working, answered: Math.max(this.#answering, this.#queue.taken) } : working
  }

  onExternalEvent(event: TaskEvent, generation: number): void {
    if (event.type === 'cancel') {
      this.#isCanceled = true
      this.stop('canceled')
    }
    if (event.type === 'status') this.#agentEvents.next(event)
    if (event.type !== 'message') return
    this.#keepMetadata(event)
    const queue = this.#openQueue()
    const wasAwaited = queue.push({ event, generation })
    if (this.#settings.whenFull === 'fail' && queue.size > this.#settings.queueLimit) this.stop('crowded')
    const isAnswer = wasAwaited || isInterrupted(this.#writer.phase)
    if (!isAnswer && this.#settings.whileBusy === 'interrupt') this.#turnStop?.stop('interrupted')
  }

  onStored(): void {
    const { phase, generation } = this.#writer
    if (generation >= this.#snapshotAt) {
      this.#snapshotAt = nextSnapshotAfter(generation)
      this.#settings.snapshotQueue.add(this.#task)
    }
    if (!isEnded(phase) && !isInterrupted(phase)) return
    this.#idleAt = generation
    this.#wakeIdleWaiters()
  }

  onEventsLost(error: unknown): void {
    this.#failure = error
    const text = 'events of a turn could not be stored, so its task fails'
    if (this.#writer.isStored) this.#logger().error({ error: loggedError(error) }, text)
    this.stop('events-lost')
  }

  async #run(): Promise<void> {
    try {
      await this.#runTurns()
      // Events were lost, but the task has a last status.
      this.#failure = undefined
    } catch (error) {
      if (error instanceof LeaseLost) {
        this.#settings.telemetry?.record?.({ type: 'lease', what: 'lost' })
        this.#logger().warn({ fence: this.#writer.fence }, 'the lease of a task was lost to another process')
      } else {
        this.#failure = error
        const text = 'a task could not be stored; it is recovered when its lease has expired'
        this.#logger().error({ error: loggedError(error) }, text)
      }
    } finally {
      this.#isOver = true
      this.#watching?.abort('done')
      this.#idleAt = Number.POSITIVE_INFINITY
      this.#wakeIdleWaiters()
      this.#queue?.clear() // the next run reads them from the log
    }
  }

  async #runTurns(): Promise<void> {
    const [message, settings, writer] = [this.#message, this.#settings, this.#writer]
    // Nothing precedes the first message of a task, and without a journal there is nothing to read.
    const isNew = message && (message.generation === 1 || !settings.recovery.isJournaled)
    let next: PlannedTurn | undefined = isNew ? { message, attempt: 1 } : await this.#resume(message === undefined)
    while (next) {
      const stop = new Stop(settings, deadlineOf(next.message.event, settings))
      this.#turnStop = stop
      if (this.#stopReason && !next.isCanceled) stop.stop(this.#stopReason)
      if (this.#isPaused) await writer.emit({ ...this.#agentEvents.status('working'), implied: true })
      const begun = { at: settings.clock.now(), generation: writer.generation }
      let interruption: Awaited<ReturnType<TurnExecution['run']>>
      try {
        interruption = await this.#runTurn(next, stop)
      } catch (error) {
        if (this.#stopReason !== 'events-lost') throw error
      }
      this.#turnStop = undefined
      if (isEnded(writer.phase)) return this.#logTurn(begun, this.#stopReason)
      const pause = typeof interruption === 'object' ? interruption : undefined
      const turnReason = typeof interruption === 'object' || interruption === 'interrupted' ? undefined : interruption
      const reason = this.#stopReason ?? turnReason
      if (reason) await this.#endTask(reason)
      this.#logTurn(begun, reason)
      if (reason) return
      this.#answered = Math.max(next.message.generation, this.#queue?.taken ?? 0)
      next = pause ? await this.#release(pause) : (this.#nextQueued() ?? (await this.#becomeIdle()))
    }
  }

  /** Not async: most runtimes have no telemetry. */
  #runTurn(planned: PlannedTurn, stop: Stop): ReturnType<TurnExecution['run']> {
    const [task, settings] = [this.#task, this.#settings]
    const { telemetry, agent } = settings
    const { event } = planned.message
    this.#answering = planned.message.generation
    const span = telemetry && beginTurnSpan(telemetry, { task, agent: agent.profile.name, planned })
    this.#trace = span?.trace ?? event.trace
    this.#addsTraceMetadata = settings.traceMetadata ?? event.tellsTrace === true
    const options = {
      task,
      ...planned,
      stop,
      writer: this.#writer,
      queue: () => this.#openQueue(),
      agentEvents: this.#agentEvents,
      taskAfter: this.#taskAfter,
      trace: this.#trace,
    }
    if (!span) return new TurnExecution(options, settings).run()
    return runInSpan(span, this.#writer, () => new TurnExecution({ ...options, span }, settings).run())
  }

  /** Plans the next turn of a task that an earlier run has left. */
  async #resume(isOrphan: boolean): Promise<PlannedTurn | undefined> {
    const { log, recovery, clock } = this.#settings
    // The writer may read further messages meanwhile. They stay in the queue.
    const { generation } = this.#writer
    const journal = await readJournal(log, this.#task.taskId, generation)
    if (!journal && this.#message) return this.#plan(this.#message)
    this.#openQueue().reset(journal?.queued ?? [], generation)
    const plan = planResume(journal, recovery, { isOrphan, now: clock.now() })
    switch (plan.type) {
      case 'run':
        if (plan.attempt > (journal?.attempt ?? 0)) this.#record(attemptEntry(plan))
        return plan
      case 'wait':
        // The turn has taken all messages before, and waits for another one.
        this.#openQueue().reset([], generation)
        return await this.#release(plan)
      case 'cancel':
        return await this.#endTask('canceled')
      case 'fail':
        this.#logger().warn({}, plan.failure.text)
        await this.#writer.emit(failedStatus(this.#agentEvents, plan.failure))
        return undefined
    }
  }

  #nextQueued(): PlannedTurn | undefined {
    const message = this.#queue?.take()
    return message && this.#plan(message)
  }

  #plan(message: QueuedMessage): PlannedTurn {
    const planned = { message, attempt: 1 }
    if (this.#settings.recovery.isJournaled) this.#record(attemptEntry(planned))
    return planned
  }

  /** Adds a journal entry. It is stored together with the next event, and before it. */
  #record(entry: JournalEntry): void {
    this.#writer.post({ type: 'journal', entry })
  }

  async #becomeIdle(): Promise<PlannedTurn | undefined> {
    if (this.#settings.recovery.isJournaled) this.#record({ type: 'rested', answered: this.#answered })
    return await this.#release()
  }

  /** Releases the lease, unless a message has arrived meanwhile: then it plans the turn for it. */
  async #release(pause?: PausedTurn): Promise<PlannedTurn | undefined> {
    const writer = this.#writer
    const { log } = this.#settings
    for (;;) {
      await writer.settled()
      // Replaying a paused turn cancels its calls to other agents.
      if (pause && this.#stopReason === 'canceled') return await this.#resume(false)
      if (this.#stopReason) return await this.#endTask(this.#stopReason)
      // An answer goes to the turn that asked for it.
      if (this.queueLength > 0) return pause ? await this.#resume(false) : this.#nextQueued()
      if (await log.release(this.#task.taskId, writer.fence, writer.generation, pause?.wakeAt)) return undefined
      await writer.sync()
    }
  }

  async #endTask(reason: StopReason): Promise<undefined> {
    if (reason === 'lease-lost') throw new LeaseLost(`The lease of task ${this.#task.taskId} is lost.`)
    // As after a crash: the journal has what was stored, and the next attempt continues from there.
    if (reason === 'events-lost' && (this.#settings.recovery.isJournaled || !this.#writer.isStored)) throw this.#failure
    if (reason === 'shutdown' && this.#settings.recovery.isJournaled) return await this.#handOver()
    if (reason === 'canceled') this.#isCanceled = true
    this.#finalStatus = this.#agentEvents.status('failed', stopText(reason, this.#settings))
    await this.#writer.emit(this.#finalStatus).catch((error) => {
      // The last event may have been stored although the store reported a failure.
      if (!isEnded(this.#writer.phase)) throw error
    })
  }

  /** Expires the lease at once, so that another process resumes the task without waiting. */
  async #handOver(): Promise<undefined> {
    this.#isLeaving = true
    await this.#writer.emit({ type: 'journal', entry: { type: 'handed-over' } })
    await this.#settings.log.renew([{ taskId: this.#task.taskId, fence: this.#writer.fence }], 0)
  }

  #openQueue(): MessageQueue {
    this.#queue ??= new MessageQueue()
    return this.#queue
  }

  #keepMetadata({ metadata }: MessageEvent): void {
    if (metadata && this.#settings.keepMetadata) this.#agentEvents.addTaskMetadata(metadata)
  }

  #wakeIdleWaiters(): void {
    const waiters = this.#idleWaiters
    this.#idleWaiters = undefined
    for (const wake of waiters ?? []) wake()
  }

  #logTurn(begun: { readonly at: number; readonly generation: number }, stopped: StopReason | undefined): void {
    const { logger, agent, clock } = this.#settings
    if (!isLogged(logger, 'info')) return
    const { phase: state, generation } = this.#writer
    const duration = Math.round(clock.now() - begun.at)
    const events = generation - begun.generation
    const fields = defined({ agent: agent.profile.name, state, stopped, duration, events })
    this.#logger().info(fields, 'turn ended')
  }

  #logger(): TaskLogger {
    return new TaskLogger(this.#settings.logger, this.#task, this.#trace ?? this.#message?.event.trace)
  }
}

/** The last status says what the turn used. The task keeps it in its metadata. */
function withUsage(event: StatusEvent): StatusEvent {
  const usage = usageIn(event.status.taskMetadata)
  if (usage === undefined || !isEnded(event.status.state)) return event
  return { ...event, metadata: { ...event.metadata, [usageKey]: usage } }
}
