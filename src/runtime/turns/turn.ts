import { type RuntimeAccess, runAgentFunction } from '../../agent/agent-function.ts'
import { repeatQuestion } from '../../agent/ask.ts'
import { CallFailed } from '../../agent/call-agent.ts'
import type { RequireAuth } from '../../agent/require-auth.ts'
import { createTurn, type TurnContext } from '../../agent/turn.ts'
import { type AgentEvents, type Content, type EventSink, rejected } from '../../agent/turn-output.ts'
import type { Json } from '../../base/json.ts'
import { TaskLogger } from '../../base/logger.ts'
import type { Trace } from '../../base/trace-context.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { MessageEvent, StatusEvent } from '../../protocol/events.ts'
import { noLineage, readLineage } from '../../protocol/extensions/lineage.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import { observe, type Span } from '../../protocol/telemetry.ts'
import { type Fold, foldUntil, loadFold } from '../../tasks/fold.ts'
import type { NewTask } from '../../tasks/log.ts'
import { createCalls, type TurnCalls } from '../calls/calls.ts'
import type { RuntimeSettings } from '../options.ts'
import type { OutputEvent } from '../recovery/journal.ts'
import type { PlannedTurn } from '../recovery/resume.ts'
import { createTurnSecrets, restoreAnswer, type TurnSecrets } from '../secrets.ts'
import { contextHistory } from './context-history.ts'
import { createDelegate } from './delegate.ts'
import { createDurableSteps } from './durable-steps.ts'
import { continuedStatus, type ExpiredQuestion, failedStatus, timeoutMetadata } from './input-timeout.ts'
import { createLiveSteps } from './live-steps.ts'
import type { MessageQueue } from './message-queue.ts'
import { createRequireAuth } from './require-auth.ts'
import { createInactivityTimer, type Stop, type StopReason } from './stop.ts'
import type { PausedTurn, QuestionOptions, StepExecutor, TurnScope } from './turn-scope.ts'
import type { Writer } from './writer.ts'

export interface TurnOptions extends PlannedTurn {
  readonly task: NewTask
  readonly stop: Stop
  readonly writer: Writer
  readonly queue: MessageQueue
  readonly agentEvents: AgentEvents
  /** Where it is in the trace of its caller, if that has one. */
  readonly trace: Trace | undefined
  /** If somebody watches. */
  readonly span?: Span
}

/** Lets the agent answer one message and stores what its answer means. Tells if it was stopped, or paused. */
export async function runTurn(
  start: TurnOptions,
  settings: RuntimeSettings,
): Promise<StopReason | PausedTurn | undefined> {
  const { task, message, attempt, journal, isCanceled, stop, writer, queue, agentEvents, trace, span } = start
  const logger = new TaskLogger(settings.logger, task, trace, (value) => (secrets ? secrets.redact(value) : value))
  const { log, agent, taskAfter, recovery, clock, inactivityTimeout } = settings
  /** As the stage, made when they are needed: most turns know no secrets. */
  let secrets: TurnSecrets | undefined
  const messageEvent = reveal(message.event)
  const isFirst = message.generation === 1
  /** The caller will know it as a task. Ahead of `writer.phase`, which tells what is stored. */
  let isTask = writer.phase !== 'received'
  // A turn that goes on with a task begins with one of our own.
  let toldStatus = !isFirst

  function emitWorking(): void {
    const working = agentEvents.status('working')
    void writer.emit(recovery.isJournaled ? { ...working, implied: true } : working)
  }

  function emitUnanswered(question: StatusEvent, late: ExpiredQuestion): void {
    const working = continuedStatus(agentEvents, question, late)
    void writer.emit(recovery.isJournaled ? { ...working, implied: true } : working)
  }

  function reveal(event: MessageEvent): MessageEvent {
    if (!event.sensitive) return event
    secrets ??= createTurnSecrets()
    return restoreAnswer(event, settings.secretStore, secrets)
  }

  function markAsTask(): void {
    if (!isTask) emitWorking()
    isTask = true
  }

  const staged = { writer, queue, stop, clock, emitWorking, emitUnanswered }
  /** Made when it is needed: most turns neither ask nor have steps. */
  let stage: StepExecutor | undefined =
    recovery.policy === 'resume' ? createDurableSteps({ ...staged, message, journal, isCanceled }) : undefined

  function onStage(): StepExecutor {
    stage ??= createLiveSteps(staged)
    return stage
  }

  const heard: MessageEvent[] = []
  let scene: TurnScope | undefined
  let calls: TurnCalls | undefined
  let requireAuth: RequireAuth | undefined
  const newArtifactId = recovery.isJournaled ? numbered(`artifact-${message.generation}`) : randomId

  const idle =
    inactivityTimeout === undefined
      ? undefined
      : createInactivityTimer(clock, inactivityTimeout, () => stop.stop('inactive'))

  function emit(event: OutputEvent): Promise<void> {
    if (stop.isOver) return rejected(overText(task, stop))
    idle?.touch()
    if (event.type === 'status') isTask = toldStatus = true
    else markAsTask()
    const told = secrets ? secrets.redact(event) : event
    return stage ? stage.emit(told) : writer.emit(told)
  }

  /** For the work of a step that is stored as a whole. */
  function within(step: string): EventSink {
    const place = `${message.generation}-${encodeURIComponent(step.replaceAll(' ', '-'))}`
    return { emit: (event) => emit({ ...event, step }), newArtifactId: numbered(`artifact-${place}`) }
  }

  async function step(name: string, work: (within: EventSink) => unknown) {
    idle?.touch()
    const done = await onStage().step(name, async (key) => {
      const given = await work(key === undefined ? { emit, newArtifactId } : within(key))
      if (secrets?.isIn(given)) throw new TypeError(secretInStep(name))
      return given
    })
    idle?.touch()
    return done
  }

  /** As a step, but what it gives may have secrets in it: they are not stored, and gone for who resumes. */
  async function keep<T extends Json>(name: string, work: (mark: string) => Promise<T>): Promise<T> {
    let live: { readonly given: T } | undefined
    const stored = await onStage().step(name, async (key = '') => {
      live = { given: await work(key) }
      return secrets ? secrets.redact(live.given) : live.given
    })
    idle?.touch()
    // Of the same type when it comes back.
    return live ? live.given : (stored as T)
  }

  async function ask(question: StatusEvent, waiting: Omit<QuestionOptions, 'again'> = {}): Promise<MessageEvent> {
    if (stop.isOver) return await rejected(overText(task, stop))
    isTask = toldStatus = true
    idle?.hold()
    const asked = secrets ? secrets.redact(question) : question
    const again = (answer: MessageEvent) => (reveal(answer).sensitive ? repeatQuestion(asked) : undefined)
    try {
      const answer = await onStage().ask(asked, { ...waiting, again })
      heard.push(answer)
      return reveal(answer)
    } finally {
      idle?.touch()
    }
  }

  /** Made when it is needed, as the stage. */
  function onScene(): TurnScope {
    secrets ??= createTurnSecrets()
    scene ??= {
      task,
      messageEvent,
      lineage,
      trace,
      agentEvents,
      stop,
      queue,
      secrets,
      settings,
      emit,
      step,
      ask,
      isAsking: () => onStage().isAsking() || isInterrupted(writer.phase),
      isReplaying: () => onStage().isReplaying(),
      beginWaiting: () => idle?.hold(),
      endWaiting() {
        idle?.touch()
        if (isInterrupted(writer.phase)) emitWorking()
      },
      recordAnswer: (message) => void heard.push(message),
    }
    return scene
  }

  const { metadata: told } = messageEvent.message
  const lineage = told ? readLineage(told, settings.calls.self.ids) : noLineage

  function context(fold: Fold | undefined): TurnContext {
    const said = fold?.messages() ?? []
    return {
      taskId: task.taskId,
      contextId: task.contextId,
      messageEvent,
      attempt,
      task: fold?.task(),
      history: said.slice(
        0,
        said.findLastIndex(({ messageId }) => messageId === messageEvent.message.messageId),
      ),
      signal: stop.signal,
      log: logger,
      now: clock.now,
      newArtifactId,
      emit,
      step,
      ask,
      lineage,
      trace,
      observe: (activity, work) => observe(settings.telemetry, activity, trace, work),
      calls() {
        calls ??= createCalls(onScene())
        return calls
      },
      requireAuth(need, options) {
        requireAuth ??= createRequireAuth(onScene())
        return requireAuth(need, options)
      },
      delegate: (audience, scopes) => createDelegate(onScene(), heard)(audience, scopes),
    }
  }

  /** Also a later attempt begins with the task as it was. */
  function foldBefore(): Promise<Fold> {
    return recovery.isJournaled ? foldUntil(log, task, message.generation) : loadFold(log, task)
  }

  /** What a returned value means, given what the turn has already told. */
  function conclude(result: Content | undefined): Promise<void> | undefined {
    if (isEnded(writer.phase) || (result === undefined && isInterrupted(writer.phase))) return undefined
    const said = secrets ? secrets.redact(result) : result
    if (isTask || said === undefined) return writer.emit(agentEvents.status('completed', said))
    const { taskId: _, ...reply } = agentEvents.message(said)
    return writer.emit({ type: 'reply', message: reply })
  }

  function fail(error: unknown): Promise<void> | undefined {
    const { text, reference } = describeFailure(error)
    const told = secrets ? secrets.redact(error) : error
    logger.error({ reference, error: told }, 'the agent failed')
    span?.learn({ state: 'failed' })
    span?.end(told)
    if (isEnded(writer.phase)) return undefined
    const metadata = timeoutMetadata(error)
    return writer.emit(
      failedStatus(agentEvents, { text: secrets ? secrets.redact(text) : text, ...(metadata && { metadata }) }),
    )
  }

  // An attempt that follows another finds the task at work, unless that one was waiting for its caller.
  if (!journal && (attempt > 1 || isFirst ? isInterrupted(writer.phase) : true)) emitWorking()
  const acted = context(isFirst ? undefined : await foldBefore())
  const direct: RuntimeAccess = {
    markAsTask,
    isReplaying: () => onStage().isReplaying(),
    emit,
    ask,
    newArtifactId,
    contextHistory: () => contextHistory(task, log),
    journal: recovery.policy === 'resume' ? keep : undefined,
  }
  const act = () => runAgentFunction(agent.run, createTurn(acted), direct)
  const work = span ? span.run(act) : act()
  // Most agents have touched the task by now.
  const slow = isTask ? undefined : clock.setTimeout(markAsTask, taskAfter)
  const done = await stop.race(work)
  clock.clearTimeout(slow)
  idle?.close()
  if (!stop.reason) {
    calls?.close()
    settings.secretStore.delete(messageEvent.ticket)
    for (const { ticket } of heard) settings.secretStore.delete(ticket)
  }
  stage?.close(done !== undefined && 'value' in done && !stop.reason)
  stop.close()
  // What the agent emitted without awaiting it comes before its end. Artifacts go together with it; only a status that
  // the agent told has to be stored before we know how the task stands.
  const pending = toldStatus || stop.reason || !done ? writer.settled() : undefined
  if (pending) await pending
  const failure = stage?.failure()
  if (failure !== undefined) {
    logger.error({}, failure.text)
    if (!isEnded(writer.phase)) await writer.emit(failedStatus(agentEvents, failure))
    return undefined
  }
  if (stop.reason || !done) return stop.reason === 'paused' ? stage?.pause() : stop.reason
  await ('error' in done ? fail(done.error) : conclude(done.value))
  return undefined
}

/** The same for every attempt, so that what an attempt writes takes the place of what an earlier one has written. */
function numbered(place: string): () => string {
  let made = 0
  return () => `${place}-${++made}`
}

function randomId(): string {
  return crypto.randomUUID()
}

function overText({ taskId }: NewTask, { reason }: Stop): string {
  return `This turn of task ${taskId} is over (${reason ?? 'it has returned'}).`
}

function secretInStep(name: string): string {
  return `What the step "${name}" returns has a secret in it, and would be stored. Use the secret within the step.`
}

/**
 * What a caller may read about an error that an agent threw. Only an `A2AError` is written for callers; anything else
 * may hold secrets, so the caller gets a reference under which the operator finds it in the log.
 */
function describeFailure(error: unknown): { readonly text: string; readonly reference: string } {
  const reference = crypto.randomUUID().slice(0, 8)
  return { text: textFor(error) ?? `The agent failed unexpectedly (reference ${reference}).`, reference }
}

function textFor(error: unknown): string | undefined {
  if (error instanceof CallFailed) return error.callerText
  return error instanceof A2AError ? error.message : undefined
}
