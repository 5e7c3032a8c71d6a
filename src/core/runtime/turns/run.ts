import type { TaskIds } from '../../agent/content.ts'
import { defined } from '../../base/json.ts'
import { isLogged } from '../../base/logger.ts'
import { loggedError } from '../../protocol/errors.ts'
import type { JournalEntry } from '../../protocol/events.ts'
import { isEnded, type Phase } from '../../protocol/states.ts'
import type { HeldLease, NewTask } from '../../tasks/log.ts'
import type { RuntimeSettings } from '../options.ts'
import { readJournal } from '../recovery/journal.ts'
import { attemptEntry, type PlannedTurn, planResume } from '../recovery/resume.ts'
import { failedStatus } from './failures.ts'
import type { QueuedMessage } from './message-queue.ts'
import { RunState } from './run-state.ts'
import { deadlineOf, Stop, type StopReason } from './stop.ts'
import type { TaskCreation } from './task-creation.ts'
import { beginTurnSpan, runInSpan, TracedWriter } from './trace-turn.ts'
import { TurnExecution } from './turn.ts'
import type { PausedTurn } from './turn-scope.ts'
import { LeaseLost, Writer } from './writer.ts'

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
 * The work on one task in this process, from the message that starts it until the task is idle or has ended. It owns
 * four things. Each uses those below it, and none calls back:
 *
 * - `Run` executes one turn after the other, and ends the task or releases its lease.
 * - `TurnExecution`, one for each message: lets the agent answer, and knows how far that has come.
 * - `Writer`: stores events and reads those of others. It knows what is stored, what waits, and whether it may go on.
 * - `RunState`: the messages that wait, why the run must stop, and the callers that wait for it.
 *
 * A class, because there is one for every message that creates a task.
 */
export class Run {
  readonly #message: QueuedMessage | undefined
  readonly #taskAfter: number
  readonly #settings: RuntimeSettings
  readonly #state: RunState
  readonly #writer: Writer
  /** `new` until the run has lasted for a period after which runs are watched. What aborts the watching, once it has begun. */
  #watching: 'new' | 'due' | AbortController = 'new'
  /** Resolves when the lease is released or lost. Never rejects. */
  readonly done: Promise<void>

  constructor(options: RunOptions, settings: RuntimeSettings) {
    const { task, message, generation } = options
    const { log, durability, telemetry } = settings
    this.#message = message
    this.#taskAfter = options.taskAfter ?? settings.taskAfter
    this.#settings = settings
    this.#state = new RunState(task, { generation, message: message?.event }, settings)
    const { fence, phase, creation } = options
    const writerOptions = { log, fence, generation, phase, durability, creation }
    this.#writer = telemetry?.watchesEvents
      ? new TracedWriter(writerOptions, this.#state, telemetry)
      : new Writer(writerOptions, this.#state)
    this.done = this.#run()
  }

  /** How many messages wait for their turn. */
  get queueLength(): number {
    return this.#state.queueLength
  }

  /** The failure of the store because of which the run is over before the task is idle. */
  get failure(): unknown {
    return this.#state.failure
  }

  /** A turn is executing and waits for no message: one that arrives now stays in the queue. */
  get isBusy(): boolean {
    return this.#state.isBusy
  }

  /** The lease to renew. Undefined before the task is stored, and after the run has offered its lease to other processes. */
  get lease(): HeldLease | undefined {
    return this.#state.isLeaving || !this.#writer.isStored ? undefined : this.#heldLease
  }

  /** `grace`: how long the current turn may take to end, in milliseconds. Defaults to `cancelGrace`. */
  stop(reason: StopReason, grace?: number): void {
    this.#state.stop(reason, grace)
  }

  /** Stops as soon as a turn waits for a message: a runtime that drains accepts none. */
  drain(grace: number): void {
    this.#state.queue.onAwaited(() => this.stop('shutdown', grace))
  }

  /** Reads a message or a cancellation that this process has appended to the log. */
  sync(): void {
    this.#writer
      .sync()
      .catch((error) => this.#state.logger().error({ error: loggedError(error) }, 'a task could not be read'))
  }

  /**
   * Follows the log, so that the run also gets what other processes append. The first call only returns true: it costs
   * as much as a short turn, so a run is followed from the second call on.
   */
  watch(): boolean {
    const state = this.#state
    if (this.#watching === 'new') {
      this.#watching = 'due'
      return true
    }
    if (this.#watching !== 'due' || state.isOver) return false
    this.#watching = new AbortController()
    const onError = (error: unknown) =>
      state.logger().error({ error: loggedError(error) }, 'a task could not be watched; it is tried again')
    void this.#writer.watch(this.#watching.signal, { clock: this.#settings.clock, onError })
    return false
  }

  /** Resolves when a state beyond that generation is stored at which callers stop waiting, or when the run is over. */
  whenIdle(after: number): Promise<void> {
    return this.#state.idle.after(after)
  }

  /** Calls back when the message of that generation is taken from the queue, or the run is over. */
  onDequeued(generation: number, callback: () => void): void {
    if (this.#state.isOver) callback()
    else this.#state.queue.onTaken(generation, callback)
  }

  async #run(): Promise<void> {
    const state = this.#state
    let failure: unknown
    try {
      await this.#runTurns()
    } catch (error) {
      if (error instanceof LeaseLost) {
        failure = state.storeError
        this.#settings.telemetry?.record?.({ type: 'lease', what: 'lost' })
        state.logger().warn({ fence: this.#writer.fence }, 'the lease of a task was lost to another process')
      } else {
        failure = error
        const text = 'a task could not be stored; it is recovered when its lease has expired'
        state.logger().error({ error: loggedError(error) }, text)
      }
    } finally {
      if (typeof this.#watching === 'object') this.#watching.abort('done')
      state.end(failure)
    }
  }

  async #runTurns(): Promise<void> {
    const [message, settings, state, writer] = [this.#message, this.#settings, this.#state, this.#writer]
    // Nothing precedes the first message of a task, and without a journal there is nothing to read.
    const isNew = message && (message.generation === 1 || !settings.recovery.isJournaled)
    let next: PlannedTurn | undefined = isNew ? { message, attempt: 1 } : await this.#resume(message === undefined)
    while (next) {
      const stop = new Stop(settings, deadlineOf(next.message.event, settings))
      state.beginTurn(stop)
      if (state.stopReason && !next.isCanceled) stop.stop(state.stopReason)
      if (state.isPaused) await writer.emit({ ...state.agentEvents.status('working'), implied: true })
      const begun = { at: settings.clock.now(), generation: writer.generation }
      let interruption: Awaited<ReturnType<TurnExecution['run']>>
      try {
        interruption = await this.#runTurn(next, stop)
      } catch (error) {
        if (state.stopReason !== 'events-lost') throw error
      }
      state.endTurn()
      if (isEnded(writer.phase)) return this.#logTurn(begun, state.stopReason)
      const pause = typeof interruption === 'object' ? interruption : undefined
      const turnReason = typeof interruption === 'object' || interruption === 'interrupted' ? undefined : interruption
      const reason = state.stopReason ?? turnReason
      if (reason) await this.#endTask(reason)
      this.#logTurn(begun, reason)
      if (reason) return
      const answered = Math.max(next.message.generation, state.taken)
      next = pause ? await this.#release(pause) : (this.#nextQueued() ?? (await this.#becomeIdle(answered)))
    }
  }

  /** Not async: most runtimes have no telemetry. */
  #runTurn(planned: PlannedTurn, stop: Stop): ReturnType<TurnExecution['run']> {
    const [settings, state, writer] = [this.#settings, this.#state, this.#writer]
    const { telemetry, agent } = settings
    const { event, generation } = planned.message
    const span = telemetry && beginTurnSpan(telemetry, { task: state.task, agent: agent.profile.name, planned })
    const trace = span?.trace ?? event.trace
    state.describeTurn({ generation, trace, addsTraceMetadata: settings.traceMetadata ?? event.tellsTrace === true })
    const options = { ...planned, stop, state, writer, taskAfter: this.#taskAfter }
    if (!span) return new TurnExecution(options, settings).run()
    return runInSpan(span, writer, () => new TurnExecution({ ...options, span }, settings).run())
  }

  /** Plans the next turn of a task that an earlier run has left. */
  async #resume(isOrphan: boolean): Promise<PlannedTurn | undefined> {
    const { log, recovery, clock } = this.#settings
    const { task, queue, agentEvents } = this.#state
    // The writer may read further messages meanwhile. They stay in the queue.
    const { generation } = this.#writer
    const journal = await readJournal(log, task.taskId, generation)
    this.#state.continueTrace(journal?.traceSize)
    if (!journal && this.#message) return this.#plan(this.#message)
    queue.reset(journal?.queued ?? [], generation)
    const plan = planResume(journal, recovery, { isOrphan, now: clock.now() })
    switch (plan.type) {
      case 'run':
        if (plan.attempt > (journal?.attempt ?? 0)) this.#record(attemptEntry(plan))
        return plan
      case 'wait':
        // The turn has taken all messages before, and waits for another one.
        queue.reset([], generation)
        return await this.#release(plan)
      case 'cancel':
        return await this.#endTask('canceled')
      case 'fail':
        this.#state.logger().warn({}, plan.failure.text)
        await this.#writer.emit(failedStatus(agentEvents, plan.failure))
        return undefined
    }
  }

  #nextQueued(): PlannedTurn | undefined {
    const message = this.#state.takeMessage()
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

  /** `answered`: the generation of the last answered message. */
  async #becomeIdle(answered: number): Promise<PlannedTurn | undefined> {
    if (this.#settings.recovery.isJournaled) this.#record({ type: 'rested', answered })
    return await this.#release()
  }

  /** Releases the lease, unless a message has arrived meanwhile: then it plans the turn for it. */
  async #release(pause?: PausedTurn): Promise<PlannedTurn | undefined> {
    const [state, writer] = [this.#state, this.#writer]
    const { log } = this.#settings
    for (;;) {
      await writer.settled()
      // Replaying a paused turn cancels its calls to other agents.
      if (pause && state.stopReason === 'canceled') return await this.#resume(false)
      if (state.stopReason) return await this.#endTask(state.stopReason)
      // An answer goes to the turn that asked for it.
      if (state.queueLength > 0) return pause ? await this.#resume(false) : this.#nextQueued()
      if (await log.release(state.task.taskId, writer.fence, writer.generation, pause?.wakeAt)) return undefined
      await writer.sync()
    }
  }

  async #endTask(reason: StopReason): Promise<undefined> {
    const [state, writer] = [this.#state, this.#writer]
    const { isJournaled } = this.#settings.recovery
    if (reason === 'lease-lost') throw new LeaseLost(`The lease of task ${state.task.taskId} is lost.`)
    // As after a crash: the journal has what was stored, and the next attempt continues from there.
    if (reason === 'events-lost' && (isJournaled || !writer.isStored)) throw state.storeError
    if (reason === 'shutdown' && isJournaled) return await this.#handOver()
    await writer.emit(state.finalStatus(reason)).catch((error) => {
      // The last event may have been stored although the store reported a failure.
      if (!isEnded(writer.phase)) throw error
    })
  }

  /** Expires the lease at once, so that another process resumes the task without waiting. */
  async #handOver(): Promise<undefined> {
    this.#state.leave()
    await this.#writer.emit({ type: 'journal', entry: { type: 'handed-over' } })
    await this.#settings.log.renew([this.#heldLease], 0)
  }

  get #heldLease(): HeldLease {
    return { taskId: this.#state.task.taskId, fence: this.#writer.fence }
  }

  #logTurn(begun: { readonly at: number; readonly generation: number }, stopped: StopReason | undefined): void {
    const { logger, agent, clock } = this.#settings
    if (!isLogged(logger, 'info')) return
    const { phase: state, generation } = this.#writer
    const duration = Math.round(clock.now() - begun.at)
    const events = generation - begun.generation
    const fields = defined({ agent: agent.profile.name, state, stopped, duration, events })
    this.#state.logger().info(fields, 'turn ended')
  }
}
