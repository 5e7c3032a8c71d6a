import { type RuntimeAccess, runAgentFunction } from '../../agent/agent-function.ts'
import { repeatQuestion } from '../../agent/ask.ts'
import { type Content, type MessageFields, readContent } from '../../agent/content.ts'
import type { RequireAuth } from '../../agent/require-auth.ts'
import { createTurn, type EventSink, rejected, type Turn } from '../../agent/turn.ts'
import { isTimeout, type Timer } from '../../base/clock.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { TaskLogger } from '../../base/logger.ts'
import type { MessageEvent, StatusEvent } from '../../protocol/events.ts'
import { type Lineage, noLineage, readLineage } from '../../protocol/extensions/lineage.ts'
import type { Usage } from '../../protocol/extensions/usage.ts'
import { isEmptyText } from '../../protocol/model.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import { observe, type Span } from '../../protocol/telemetry.ts'
import { type Fold, foldUntil } from '../../tasks/fold.ts'
import { createCalls, type TurnCalls } from '../calls/calls.ts'
import { type RuntimeSettings, workingAfter } from '../options.ts'
import type { OutputEvent } from '../recovery/journal.ts'
import type { PlannedTurn } from '../recovery/resume.ts'
import { createTurnSecrets, restoreAnswer, type TurnSecrets } from '../secrets.ts'
import { contextHistory, readConversation } from './conversation.ts'
import { createDelegate } from './delegate.ts'
import { DurableSteps } from './durable-steps.ts'
import { continuedStatus, errorFields, failedStatus, failureEvent, type TaskFailure } from './failures.ts'
import { LiveSteps, type LiveStepsOptions } from './live-steps.ts'
import { createRequireAuth } from './require-auth.ts'
import type { RunState } from './run-state.ts'
import { createInactivityTimer, type InactivityTimer, type Settled, type Stop, type StopReason } from './stop.ts'
import { record } from './task-trace.ts'
import {
  createNumberedIds,
  createStepSink,
  type ObservedActivity,
  type PausedTurn,
  type QuestionOptions,
  type StepExecutor,
  type TurnScope,
} from './turn-scope.ts'
import { TurnUsage } from './turn-usage.ts'
import type { Writer } from './writer.ts'

export interface TurnOptions extends PlannedTurn {
  readonly stop: Stop
  readonly state: RunState
  readonly writer: Writer
  /** Milliseconds after which the exchange becomes a task, if it is not one yet. */
  readonly taskAfter: number
  /** Set if the runtime has telemetry. */
  readonly span?: Span
}

/**
 * How far a turn has taken its exchange. A stage includes those before it, and no turn goes back.
 *
 * - `message`: the answer may be a message.
 * - `task`: the caller gets a task. Ahead of `writer.phase`, which reflects what is stored.
 * - `working`: the task is past `submitted`, or the status that takes it there is on its way.
 * - `touched`: the agent emitted an event, or asked the caller. From now on it cannot reject the message.
 * - `artifact`: the agent emitted content of an artifact. Content that it returns is a remark about it.
 */
type Stage = keyof typeof stages

const stages = { message: 0, task: 1, working: 2, touched: 3, artifact: 4 }

/**
 * Lets the agent answer one message and stores what its answer means for the task. A class, because the server creates
 * one for every message: members that most turns never use are created on first use.
 */
export class TurnExecution {
  readonly #options: TurnOptions
  readonly #settings: RuntimeSettings
  readonly #logger: TaskLogger
  readonly #messageEvent: MessageEvent
  readonly #lineage: Lineage
  readonly #newArtifactId: () => string = () => crypto.randomUUID()
  readonly #inactivity: InactivityTimer | undefined
  /** Messages that the turn took after the first one. */
  readonly #answers: MessageEvent[] = []
  #stage: Stage = 'message'
  /** The artifacts whose last chunk the agent has not emitted. */
  readonly #openArtifacts = new Set<string>()
  #startTimer: Timer | undefined
  #secrets: TurnSecrets | undefined
  #executor: StepExecutor | undefined
  #scope: TurnScope | undefined
  #calls: TurnCalls | undefined
  #requireAuth: RequireAuth | undefined
  #usage: TurnUsage | undefined
  /** Set if the caller has used up a limit of tokens or cost. */
  #limitFailure: TaskFailure | undefined

  constructor(options: TurnOptions, settings: RuntimeSettings) {
    const { message, journal, isCanceled, stop, state, writer } = options
    const { recovery, clock, inactivityTimeout } = settings
    this.#options = options
    this.#settings = settings
    this.#logger = new TaskLogger(settings.logger, state.task, state.trace, (value) => this.#redact(value))
    this.#messageEvent = this.#restore(message.event)
    const { metadata } = this.#messageEvent.message
    this.#lineage = metadata ? readLineage(metadata, settings.calls.self.ids) : noLineage
    if (recovery.isJournaled) this.#newArtifactId = createNumberedIds(`artifact-${message.generation}`)
    if (writer.phase !== 'received') this.#reach(writer.phase === 'submitted' ? 'task' : 'working')
    if (recovery.policy === 'resume') {
      this.#executor = new DurableSteps({
        ...this.#stepsOptions(),
        message,
        journal,
        isCanceled,
        usageOf: (key) => this.#usage?.ofStep(key),
        restoreUsage: (usage) => this.#turnUsage.restore(usage),
      })
    }
    if (inactivityTimeout !== undefined) {
      this.#inactivity = createInactivityTimer(clock, inactivityTimeout, () => stop.stop('inactive'))
    }
  }

  /** Resolves with the reason if the turn was stopped, and with the pause if it waits for an answer. */
  async run(): Promise<StopReason | PausedTurn | undefined> {
    if (this.#needsWorkingStatus()) this.#emitWorking()
    const { message, stop, state } = this.#options
    // A later attempt starts with the same task.
    const before = this.#isFirst ? undefined : await foldUntil(this.#settings.log, state.task, message.generation)
    if (before?.traceSize) state.continueTrace(before.traceSize)
    const outcome = await this.#execute(this.#createTurn(before))
    if (outcome && 'value' in outcome && !stop.reason) this.#closeArtifacts()
    const pending = this.#close(outcome)
    if (pending) await pending
    await this.#conclude(outcome)
    if (this.#failure()) return undefined
    return stop.reason === 'paused' ? this.#executor?.pause() : stop.reason
  }

  /** What the agent sees: the message, the task before it, and what the agent can do. */
  #createTurn(fold: Fold | undefined): Turn {
    const { attempt, stop, state } = this.#options
    const { task, agentEvents, trace } = state
    const messages = fold?.messages() ?? []
    const before = fold?.task()
    const current = messages.findLastIndex(({ messageId }) => messageId === this.#messageEvent.message.messageId)
    return createTurn({
      taskId: task.taskId,
      contextId: task.contextId,
      messageEvent: this.#messageEvent,
      attempt,
      task: before,
      history: messages.slice(0, current),
      conversation: () => {
        // The next turn reads the tasks of the context, so an agent that remembers answers with a task.
        this.#reach('task')
        return readConversation(task, this.#settings.log, before, this.#messageEvent.message.messageId)
      },
      addUsage: (usage) => this.#addUsage(usage),
      signal: stop.signal,
      log: this.#logger,
      now: this.#settings.clock.now,
      agentEvents,
      newArtifactId: this.#newArtifactId,
      emit: this.#emit,
      flush: () => this.#options.writer.flush(),
      step: this.#tracedStep,
      ask: this.#ask,
      lineage: this.#lineage,
      trace,
      observe: this.#observe,
      calls: () => {
        this.#calls ??= createCalls(this.#turnScope)
        return this.#calls
      },
      requireAuth: (need, options) => {
        this.#requireAuth ??= createRequireAuth(this.#turnScope)
        return this.#requireAuth(need, options)
      },
      setMetadata: this.#setMetadata,
      delegate: (audience, scopes) => createDelegate(this.#turnScope, this.#answers)(audience, scopes),
    })
  }

  /** Runs the agent until it ends, or until the grace period of a stop is over. Not async: this is the hot path. */
  #execute(turn: Turn): Promise<Settled<Content | undefined> | undefined> {
    const { stop, span, taskAfter } = this.#options
    const { agent, clock } = this.#settings
    const run = () => runAgentFunction(agent.run, turn, this.#runtimeAccess())
    const work = span ? span.run(run) : run()
    // After the call: most agents have emitted an event by now, and need no timer.
    const delay = this.#has('task') ? workingAfter : taskAfter
    if (!this.#has('working') && isTimeout(delay)) this.#startTimer = clock.setTimeout(() => this.#start(), delay)
    return stop.race(work)
  }

  /** Releases what the turn holds. Returns a promise if the phase is known only after pending events are stored. */
  #close(outcome: Settled<Content | undefined> | undefined): Promise<void> | undefined {
    const { stop, writer } = this.#options
    const { clock, secretStore } = this.#settings
    clock.clearTimeout(this.#startTimer)
    this.#inactivity?.close()
    if (!stop.reason) {
      this.#calls?.close()
      for (const { ticket } of [this.#messageEvent, ...this.#answers]) if (ticket) secretStore.delete(ticket)
    }
    this.#executor?.close(outcome !== undefined && 'value' in outcome && !stop.reason)
    stop.close()
    // Artifacts that were emitted without await are stored together with the final status. A status must be stored
    // before, because it decides how the task ends.
    return stop.reason || !outcome ? writer.settled() : writer.phaseSettled()
  }

  /** Stores what a result or an error means for the task. A stop is left to the run. */
  #conclude(outcome: Settled<Content | undefined> | undefined): Promise<void> | undefined {
    const { stop, state, writer } = this.#options
    const failure = this.#failure()
    if (failure) {
      this.#logger.error({}, failure.text)
      return isEnded(writer.phase) ? undefined : writer.emit(failedStatus(state.agentEvents, failure))
    }
    if (stop.reason || !outcome) return undefined
    return 'error' in outcome ? this.#fail(outcome.error) : this.#complete(outcome.value)
  }

  #complete(result: Content | undefined): Promise<void> | undefined {
    const { state, writer } = this.#options
    const isTask = this.#has('task')
    if (isEnded(writer.phase) || (result === undefined && isInterrupted(writer.phase))) return undefined
    let content: MessageFields | undefined
    try {
      content = result === undefined || (result === '' && isTask) ? undefined : this.#redact(readContent(result))
    } catch (error) {
      return this.#fail(error)
    }
    // Content that is returned beside an artifact is a remark about it.
    const isAnswer = { auto: !this.#has('artifact'), artifact: true, status: false }[this.#settings.answers]
    if (isTask || content === undefined) return writer.emit(state.agentEvents.completed(content, isAnswer))
    const { taskId: _, ...reply } = state.agentEvents.message(this.#withUsage(content))
    return writer.emit({ type: 'reply', message: reply })
  }

  #fail(error: unknown): Promise<void> | undefined {
    const { state, writer, span } = this.#options
    const { reference, event, isRejected } = failureEvent(state.agentEvents, error, {
      mayReject: this.#isFirst && !this.#has('touched'),
      isTask: this.#has('task'),
    })
    const redacted = this.#redact(error)
    const fields = errorFields(redacted, this.#settings)
    if (isRejected) this.#logger.info(fields, 'the agent rejected a message')
    else this.#logger.error({ agent: this.#settings.agent.profile.name, reference, ...fields }, 'the agent failed')
    span?.addDetails({ state: 'failed' })
    span?.end(redacted)
    return isEnded(writer.phase) ? undefined : writer.emit(this.#redact(event))
  }

  /** Why the task must fail, whatever the agent returned. */
  #failure(): TaskFailure | undefined {
    return this.#executor?.failure() ?? this.#limitFailure
  }

  get #isFirst(): boolean {
    return this.#options.message.generation === 1
  }

  /** A later turn of a task that was queued, or whose question was answered before the caller did. */
  #needsWorkingStatus(): boolean {
    const { journal, attempt, writer } = this.#options
    if (journal) return false
    return isInterrupted(writer.phase) || (writer.phase === 'submitted' && !(this.#isFirst && attempt === 1))
  }

  /** For agents that emit events instead of content. */
  #runtimeAccess(): RuntimeAccess {
    return {
      markAsTask: () => this.#start(),
      isReplaying: () => this.#stepExecutor.isReplaying(),
      addUsage: (usage, mark) => this.#addUsage(usage, mark),
      emit: this.#emit,
      ask: this.#ask,
      newArtifactId: this.#newArtifactId,
      contextHistory: () => contextHistory(this.#options.state.task, this.#settings.log),
      credentials: () => {
        const { inBand = [] } = this.#settings.secretStore.get(this.#messageEvent.ticket) ?? {}
        for (const { credentials } of inBand) this.#turnSecrets.add(credentials)
        return inBand
      },
      journal: this.#settings.recovery.policy === 'resume' ? (name, work) => this.#journal(name, work) : undefined,
    }
  }

  // The next ones are properties, because the turn and its helpers call them without `this`.

  readonly #emit = (event: OutputEvent, isAwaited = false): Promise<void> => {
    const { stop, state, writer } = this.#options
    if (stop.isOver) return rejected(stop.overText(state.task.taskId))
    this.#inactivity?.touch()
    if (event.type === 'status') {
      this.#reach('touched')
      if (event.status.state === 'completed' || event.status.state === 'input-required') this.#closeArtifacts()
    } else {
      this.#start()
      this.#reach(event.artifact.parts.every(isEmptyText) ? 'touched' : 'artifact')
      if (event.lastChunk) this.#openArtifacts.delete(event.artifact.artifactId)
      else this.#openArtifacts.add(event.artifact.artifactId)
    }
    const isHeld = isAwaited || this.#settings.recovery.isJournaled || this.#executor?.isAsking()
    const isPause = !isHeld && event.type === 'status' && isInterrupted(event.status.state)
    const output = this.#redact(isPause ? { ...event, pausedUnder: writer.fence } : event)
    return this.#executor ? this.#executor.emit(output) : writer.write(output)
  }

  /** The agent has written all it writes: readers learn that no chunk follows. */
  #closeArtifacts(): void {
    for (const artifactId of this.#openArtifacts) {
      const event: OutputEvent = {
        type: 'artifact',
        artifact: { artifactId, parts: [] },
        append: true,
        lastChunk: true,
      }
      this.#emit(event).catch(() => {}) // the run learns by itself that an event could not be stored
    }
  }

  readonly #setMetadata = (members: JsonObject): Promise<void> => {
    const { state, writer } = this.#options
    state.agentEvents.addTaskMetadata(this.#redact(members))
    const taskState = isInterrupted(writer.phase) ? writer.phase : 'working'
    return this.#emit({ ...state.agentEvents.status(taskState), metadata: members }, true)
  }

  readonly #step = async (name: string, work: (sink: EventSink) => unknown): Promise<Json | undefined> => {
    this.#inactivity?.touch()
    const result = await this.#stepExecutor.step(name, async (key) => {
      const value = await work(this.#sinkFor(key))
      this.#secrets?.rejectIn(value, name)
      return value
    })
    this.#inactivity?.touch()
    return result
  }

  /** A step of the author's code. Those of calls to other agents are parts of the call. */
  readonly #tracedStep = (name: string, work: (sink: EventSink) => unknown): Promise<Json | undefined> => {
    const trace = this.#options.state.taskTrace
    if (!trace) return this.#step(name, work)
    return this.#step(name, (sink) =>
      record(trace.begin({ type: 'step', step: name }, undefined, this.#recording), async (span) => {
        const result = await work(sink)
        if (span.keepsContent) span.addDetails({ output: result })
        return result
      }),
    )
  }

  readonly #observe = <T>(activity: ObservedActivity, work: (span?: Span) => Promise<T>): Promise<T> => {
    const { trace, taskTrace } = this.#options.state
    return observe(this.#settings.telemetry, activity, trace, (span) =>
      taskTrace ? record(taskTrace.begin(activity, span, this.#recording), work) : work(span),
    )
  }

  /** A resumed turn repeats what the trace has from the attempt before. */
  readonly #recording = {
    redact: <T>(value: T): T => this.#redact(value),
    isKept: () => !this.#executor?.isReplaying(),
  }

  readonly #ask = async (
    question: StatusEvent,
    options: Omit<QuestionOptions, 'again'> = {},
  ): Promise<MessageEvent> => {
    const { stop, state } = this.#options
    if (stop.isOver) return await rejected(stop.overText(state.task.taskId))
    this.#reach('touched')
    this.#inactivity?.hold()
    const redacted = this.#redact(question)
    const again = (answer: MessageEvent) => (this.#restore(answer).sensitive ? repeatQuestion(redacted) : undefined)
    try {
      const answer = await this.#stepExecutor.ask(redacted, { ...options, again })
      this.#answers.push(answer)
      return this.#restore(answer)
    } finally {
      this.#inactivity?.touch()
    }
  }

  /** A step whose result may contain secrets. They are not stored, so a resumed turn gets the redacted result. */
  async #journal<T extends Json>(name: string, work: (mark: string) => Promise<T>): Promise<T> {
    let live: { readonly result: T } | undefined
    const stored = await this.#stepExecutor.step(name, async (key = '') => {
      live = { result: await work(key) }
      return this.#redact(live.result)
    })
    this.#inactivity?.touch()
    // A stored result has the type that the work returned.
    return live ? live.result : (stored as T)
  }

  /** With a key, the events are stored as part of the step of that key. */
  #sinkFor(step: string | undefined): EventSink {
    const addUsage = (usage: Usage) => this.#addUsage(usage, step)
    if (step === undefined) return { emit: this.#emit, newArtifactId: this.#newArtifactId, addUsage }
    return { ...createStepSink(this.#emit, this.#options.message.generation, step), addUsage }
  }

  /** Turns the exchange into a task that is working. */
  #start(): void {
    if (!this.#has('working')) this.#emitWorking()
  }

  #emitWorking(): void {
    this.#reach('working')
    this.#emitImplied(this.#options.state.agentEvents.status('working'))
  }

  #has(stage: Stage): boolean {
    return stages[this.#stage] >= stages[stage]
  }

  #reach(stage: Stage): void {
    if (!this.#has(stage)) this.#stage = stage
  }

  /** A status from the runtime: the journal must not attribute it to the agent. */
  #emitImplied(status: StatusEvent): void {
    this.#options.writer.post({ ...status, implied: true })
  }

  get #stepExecutor(): StepExecutor {
    this.#executor ??= new LiveSteps(this.#stepsOptions())
    return this.#executor
  }

  #stepsOptions(): LiveStepsOptions {
    const { writer, state, stop } = this.#options
    return {
      writer,
      queue: state.queue,
      stop,
      clock: this.#settings.clock,
      emitWorking: () => this.#emitWorking(),
      emitUnanswered: (question, expired) => this.#emitImplied(continuedStatus(state.agentEvents, question, expired)),
    }
  }

  /** What a step uses is stored with its result. Other usage is counted again by a resumed turn, but not charged twice. */
  #addUsage(usage: Usage, step?: string): Promise<void> {
    const isCounted = step === undefined && this.#stepExecutor.isReplaying()
    return this.#turnUsage.add(usage, step, isCounted)
  }

  #withUsage(content: MessageFields): MessageFields {
    const usage = this.#usage?.metadata()
    return usage ? { ...content, metadata: { ...content.metadata, ...usage } } : content
  }

  get #turnUsage(): TurnUsage {
    this.#usage ??= new TurnUsage({
      settings: this.#settings,
      principal: this.#messageEvent.principal,
      agentEvents: this.#options.state.agentEvents,
      onExceeded: (text) => {
        this.#limitFailure = { text }
        this.#options.stop.stop('limit')
      },
    })
    return this.#usage
  }

  get #turnSecrets(): TurnSecrets {
    this.#secrets ??= createTurnSecrets()
    return this.#secrets
  }

  #redact<T>(value: T): T {
    return this.#secrets ? this.#secrets.redact(value) : value
  }

  /** The message with the parts of a sensitive answer, as long as this process holds them. */
  #restore(event: MessageEvent): MessageEvent {
    return event.sensitive ? restoreAnswer(event, this.#settings.secretStore, this.#turnSecrets) : event
  }

  get #turnScope(): TurnScope {
    const { stop, state, writer } = this.#options
    const { task, agentEvents, trace, queue } = state
    this.#scope ??= {
      task,
      messageEvent: this.#messageEvent,
      lineage: this.#lineage,
      trace,
      agentEvents,
      stop,
      queue,
      secrets: this.#turnSecrets,
      settings: this.#settings,
      emit: this.#emit,
      step: this.#step,
      ask: this.#ask,
      observe: this.#observe,
      isAsking: () => this.#stepExecutor.isAsking() || isInterrupted(writer.phase),
      isReplaying: () => this.#stepExecutor.isReplaying(),
      beginWaiting: () => this.#inactivity?.hold(),
      endWaiting: () => {
        this.#inactivity?.touch()
        if (isInterrupted(writer.phase)) this.#emitWorking()
      },
      recordAnswer: (answer) => void this.#answers.push(answer),
    }
    return this.#scope
  }
}
