import { type AgentEvents, createAgentEvents } from '../../agent/turn-output.ts'
import { TaskLogger } from '../../base/logger.ts'
import type { Trace } from '../../base/trace-context.ts'
import type { JournalEntry, TaskEvent } from '../../protocol/events.ts'
import { lineageExtension, readLineage } from '../../protocol/extensions/lineage.ts'
import { isEnded, isInterrupted, type Phase } from '../../protocol/states.ts'
import type { Span } from '../../protocol/telemetry.ts'
import type { NewTask } from '../../tasks/log.ts'
import type { RuntimeSettings } from '../options.ts'
import { readJournal } from '../recovery/journal.ts'
import { type PlannedTurn, planResume } from '../recovery/resume.ts'
import { failedStatus } from './input-timeout.ts'
import { MessageQueue, type QueuedMessage } from './message-queue.ts'
import { Stop, type StopReason, stopText } from './stop.ts'
import { runTurn, type TurnOptions } from './turn.ts'
import type { PausedTurn } from './turn-scope.ts'
import { LeaseLost, TracedWriter, Writer, type WriterOwner, withTraceMetadata } from './writer.ts'

/** Milliseconds until a store that failed is asked again for what others have said. */
const watchPause = 1_000

export interface RunOptions {
  readonly task: NewTask
  readonly fence: number
  readonly generation: number
  readonly phase: Phase
  /** The message to begin with. Without one it is an orphan: its log tells where to go on. */
  readonly message?: QueuedMessage
  /** Called when it is over. */
  readonly onDone?: (() => void) | undefined
}

/**
 * A task at work in this process, from the message that woke it until it rests or ends. A class, because there is one
 * for every message that begins a task.
 */
export class Run implements WriterOwner {
  readonly #task: NewTask
  readonly #fence: number
  readonly #message: QueuedMessage | undefined
  readonly #settings: RuntimeSettings
  readonly #queue = new MessageQueue()
  readonly #agentEvents: AgentEvents
  readonly #writer: Writer
  /** The turn under way, and why the whole run must stop. */
  #turn: Stop | undefined
  #halted: StopReason | undefined
  /** The last generation at which callers stop waiting, and who waits for the next one. */
  #restedAt = 0
  #waiters: (() => void)[] | undefined
  #finished: AbortController | undefined
  #isOver = false
  #isLeaving = false
  /** The last message that was answered. */
  #answered = 0
  /** Where the turn is in its trace, and whether that is told. */
  #trace: Trace | undefined
  #tellsTrace = false
  /** Resolves when the lease is given back or lost. Never rejects. */
  readonly done: Promise<void>

  constructor(start: RunOptions, settings: RuntimeSettings) {
    const { task, fence, generation, phase, message } = start
    this.#task = task
    this.#fence = fence
    this.#message = message
    this.#settings = settings
    this.#agentEvents = createAgentEvents(task, settings.clock.now)
    const options = { log: settings.log, taskId: task.taskId, fence, generation, phase }
    const { telemetry } = settings
    this.#writer = telemetry?.watchesEvents
      ? new TracedWriter(options, this, { telemetry, task, traceNow: () => this.#trace })
      : new Writer(options, this)
    this.done = this.#run()
  }

  /** How many messages wait for their turn. */
  get queueLength(): number {
    return this.#queue.size
  }

  /** It has given its lease to whoever takes it, which must not be prolonged any more. */
  get isLeaving(): boolean {
    return this.#isLeaving
  }

  stop(reason: StopReason): void {
    this.#halted ??= reason
    this.#turn?.stop(reason)
  }

  /** Somebody in this process has stored a message or a wish for it. */
  sync(): void {
    this.#writer.sync().catch((error) => this.#logger().error({ error }, 'a task could not be read'))
  }

  /** From now on it hears also what callers in other processes store. */
  watch(): void {
    if (this.#finished || this.#isOver) return
    this.#finished = new AbortController()
    void this.#follow(this.#finished.signal)
  }

  /** Resolves when it has stored, beyond that generation, a state at which callers stop waiting; or when it is over. */
  whenIdle(after: number): Promise<void> {
    if (this.#restedAt > after) return Promise.resolve()
    this.#waiters ??= []
    const waiters = this.#waiters
    return new Promise((resolve) => waiters.push(resolve))
  }

  /** Calls back when the message of that generation is taken up, or the run is over. */
  onDequeued(generation: number, then: () => void): void {
    if (this.#isOver) then()
    else this.#queue.onTaken(generation, then)
  }

  /** A task that has input does not wait for any, and is not complete: what was queued runs first. */
  adjust(event: TaskEvent): TaskEvent {
    const told = this.#tellsTrace && this.#trace ? withTraceMetadata(event, this.#trace) : event
    if (this.#queue.size === 0 || told.type !== 'status') return told
    const { state } = told.status
    const rests = state === 'completed' || isInterrupted(state)
    return rests ? { ...told, status: { ...told.status, state: 'working' } } : told
  }

  onExternalEvent(event: TaskEvent, at: number): void {
    if (event.type === 'cancel') this.stop('canceled')
    if (event.type !== 'message') return
    const answersQuestion = this.#queue.push({ event, generation: at })
    const { whenFull, queueLimit } = this.#settings
    if (whenFull === 'fail' && this.#queue.size > queueLimit) this.stop('crowded')
    const isAnswer = answersQuestion || isInterrupted(this.#writer.phase)
    if (!isAnswer && this.#settings.whileBusy === 'interrupt') this.#turn?.stop('interrupted')
  }

  onStored(): void {
    const { phase, generation } = this.#writer
    if (!isEnded(phase) && !isInterrupted(phase)) return
    this.#restedAt = generation
    this.#tellRest()
  }

  onLeaseLost(): void {
    this.stop('lease-lost')
  }

  onFlood(): void {
    this.stop('flooded')
  }

  #logger(): TaskLogger {
    return new TaskLogger(this.#settings.logger, this.#task, this.#trace ?? this.#message?.event.trace)
  }

  async #run(): Promise<void> {
    try {
      await this.#work()
    } catch (error) {
      if (error instanceof LeaseLost) {
        this.#settings.telemetry?.note?.({ type: 'lease', what: 'lost' })
        this.#logger().warn({ fence: this.#fence }, 'the lease of a task was lost to another process')
      } else this.#logger().error({ error }, 'a task could not be stored; it is failed when its lease has run out')
    } finally {
      this.#isOver = true
      this.#finished?.abort('done')
      this.#restedAt = Number.POSITIVE_INFINITY
      this.#tellRest()
      this.#queue.clear() // Whoever goes on reads them from the log.
    }
  }

  async #work(): Promise<void> {
    const message = this.#message
    const settings = this.#settings
    const inbox = this.#queue
    const writer = this.#writer
    // The first message has nothing before it, and who keeps no journal has nothing to look up.
    const isNew = message && (message.generation === 1 || !settings.recovery.isJournaled)
    let next: PlannedTurn | undefined = isNew ? { message, attempt: 1 } : await this.#resume(message === undefined)
    while (next) {
      const stop = new Stop(settings, deadlineOf(next.message, settings))
      this.#turn = stop
      if (this.#halted) stop.stop(this.#halted)
      const stopped = await this.#takeTurn(next, stop)
      this.#turn = undefined
      if (isEnded(writer.phase)) return
      const pause = typeof stopped === 'object' ? stopped : undefined
      const reason = this.#halted ?? (typeof stopped === 'object' || stopped === 'interrupted' ? undefined : stopped)
      if (reason) return await this.#end(reason)
      this.#answered = Math.max(next.message.generation, inbox.taken)
      next = pause ? await this.#release(pause) : (this.#following() ?? (await this.#rest()))
    }
  }

  /** Not async: mostly nobody watches. */
  #takeTurn(next: PlannedTurn, stop: Stop): ReturnType<typeof runTurn> {
    const settings = this.#settings
    const task = this.#task
    const { taskId, contextId } = task
    const { event } = next.message
    const { name: agent } = settings.agent.profile
    const activity = { type: 'turn', agent, taskId, contextId, attempt: next.attempt } as const
    const span = settings.telemetry?.begin(activity, event.trace)
    const trace = span?.trace ?? event.trace
    this.#trace = trace
    this.#tellsTrace = settings.traceMetadata ?? event.tellsTrace === true
    const start = {
      task,
      ...next,
      stop,
      writer: this.#writer,
      queue: this.#queue,
      agentEvents: this.#agentEvents,
      trace,
    }
    return span ? this.#watchTurn({ ...start, span }, span) : runTurn(start, settings)
  }

  async #watchTurn(start: TurnOptions, span: Span): ReturnType<typeof runTurn> {
    try {
      const stopped = await runTurn(start, this.#settings)
      span.learn({ state: this.#writer.phase })
      return stopped
    } finally {
      span.end()
    }
  }

  /** Where an earlier process, or an earlier run, has left the task. */
  async #resume(isOrphan: boolean): Promise<PlannedTurn | undefined> {
    const { log, recovery, clock } = this.#settings
    const { taskId } = this.#task
    const journal = await readJournal(log, taskId, this.#writer.generation)
    if (!journal && this.#message) return this.#begin(this.#message)
    this.#queue.fill(journal?.queued ?? [], this.#writer.generation)
    const found = planResume(journal, recovery, { isOrphan, now: clock.now() })
    switch (found.type) {
      case 'begin':
        if (found.attempt > (journal?.attempt ?? 0)) this.#note(attemptAt(found))
        return found
      case 'rest':
        // All that came was heard before: the turn waits for something else.
        this.#queue.fill([], this.#writer.generation)
        return await this.#release(found)
      case 'cancel':
        await this.#end('canceled')
        return undefined
      case 'fail':
        this.#logger().warn({}, found.failure.text)
        await this.#writer.emit(failedStatus(this.#agentEvents, found.failure))
        return undefined
    }
  }

  #following(): PlannedTurn | undefined {
    const next = this.#queue.take()
    return next && this.#begin(next)
  }

  #begin(next: QueuedMessage): PlannedTurn {
    const beginning = { message: next, attempt: 1 }
    if (this.#settings.recovery.isJournaled) this.#note(attemptAt(beginning))
    return beginning
  }

  /** Stored together with what follows, and before it. */
  #note(entry: JournalEntry): void {
    void this.#writer.emit({ type: 'journal', entry })
  }

  async #rest(): Promise<PlannedTurn | undefined> {
    if (this.#settings.recovery.isJournaled) this.#note({ type: 'rested', answered: this.#answered })
    return await this.#release()
  }

  /** Gives the lease back, unless something has come meanwhile: then that is what to do next. */
  async #release(pause?: PausedTurn): Promise<PlannedTurn | undefined> {
    const writer = this.#writer
    const { log } = this.#settings
    for (;;) {
      await writer.settled()
      if (this.#halted) {
        await this.#end(this.#halted)
        return undefined
      }
      // An answer goes to the turn that asked.
      if (this.#queue.size > 0) return pause ? await this.#resume(false) : this.#following()
      if (await log.release(this.#task.taskId, this.#fence, writer.generation, pause?.wakeAt)) return undefined
      await writer.sync()
    }
  }

  async #end(reason: StopReason): Promise<void> {
    if (reason === 'lease-lost') throw new LeaseLost(`The lease of task ${this.#task.taskId} is lost.`)
    if (reason === 'shutdown' && this.#settings.recovery.isJournaled) return await this.#handOver()
    const voice = this.#agentEvents
    const status =
      reason === 'canceled' ? voice.status('canceled') : voice.status('failed', stopText(reason, this.#settings))
    await this.#writer.emit(status)
  }

  /** Whoever looks for orphans next finds this one: nobody waits for the lease to run out. */
  async #handOver(): Promise<void> {
    this.#isLeaving = true
    await this.#writer.emit({ type: 'journal', entry: { type: 'handed-over' } })
    await this.#settings.log.renew([{ taskId: this.#task.taskId, fence: this.#fence }], 0)
  }

  #tellRest(): void {
    const waiters = this.#waiters
    this.#waiters = undefined
    for (const tell of waiters ?? []) tell()
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { clock } = this.#settings
    while (!signal.aborted) {
      await this.#hear(signal).catch(async (error) => {
        this.#logger().error({ error }, 'a task could not be watched; it is tried again')
        await new Promise<void>((resolve) => clock.setTimeout(resolve, watchPause))
      })
    }
  }

  async #hear(signal: AbortSignal): Promise<void> {
    const writer = this.#writer
    const seen = writer.generation
    await this.#settings.log.wait(this.#task.taskId, seen, signal)
    await writer.settled()
    // What we wrote ourselves needs no reading; and a write that comes after somebody else's reads it first.
    if (writer.generation === seen && !signal.aborted) await writer.sync()
  }
}

/** Until when an answer is of use to whoever sent the message. */
function deadlineOf({ event }: QueuedMessage, { calls }: RuntimeSettings): number | undefined {
  const { metadata } = event.message
  return metadata?.[lineageExtension] === undefined ? undefined : readLineage(metadata, calls.self.ids).deadline
}

function attemptAt({ message, attempt }: PlannedTurn): JournalEntry {
  return { type: 'attempt', message: message.generation, attempt }
}
