import { rejected } from '../../agent/turn.ts'
import { defined, type Json, toJson } from '../../base/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { JournalEntry, MessageEvent, StatusEvent, StepEntry, StepFailure } from '../../protocol/events.ts'
import type { UsageSum } from '../../protocol/extensions/usage.ts'
import { isInProgress, isInterrupted } from '../../protocol/states.ts'
import { type Journal, type OutputEvent, stepKey } from '../recovery/journal.ts'
import { createReplay, describeStep, type Replay } from '../recovery/replay.ts'
import { type ExpiredQuestion, inputTimeout, type TaskFailure } from './failures.ts'
import type { LiveStepsOptions } from './live-steps.ts'
import type { QueuedMessage } from './message-queue.ts'
import { never, type PausedTurn, type QuestionOptions, type StepExecutor } from './turn-scope.ts'

/** Thrown by `turn.step()` for a step that failed, in this process or before a restart. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed'
}

export interface DurableStepsOptions extends LiveStepsOptions {
  /** The message that the turn answers. */
  readonly message: QueuedMessage
  /** What an earlier attempt of this turn stored. */
  readonly journal: Journal | undefined
  /** The task is canceled: the turn is replayed, and does nothing new. */
  readonly isCanceled?: true | undefined
  /** What the step of this key has used. */
  readonly usageOf: (key: string) => UsageSum | undefined
  /** Called with what a step has used that an earlier attempt ran. */
  readonly restoreUsage: (usage: UsageSum) => void
}

/** Executes a turn that can stop at any time and resume in another process. */
export class DurableSteps implements StepExecutor {
  readonly #options: DurableStepsOptions
  readonly #replay: Replay
  /** How the code differs from the journal. */
  #difference: string | undefined
  #pause: PausedTurn | undefined
  /** Settles with the last question: questions of concurrent code are asked one after the other. */
  #lastQuestion: Promise<unknown> = Promise.resolve()
  #questionCount = 0
  /** Resolves when the open question is answered or given up. Undefined while no question is open. */
  #openQuestion: Promise<void> | undefined
  #runningSteps = 0

  constructor(options: DurableStepsOptions) {
    const { journal, isCanceled, clock, stop } = options
    this.#options = options
    this.#replay = createReplay(journal, clock, (text) => {
      this.#difference ??= text
      stop.stop('differs')
    })
    if (isCanceled) this.#replay.whenDone('its end', () => stop.stop('canceled'))
  }

  emit(event: OutputEvent): Promise<void> {
    // A step runs only after the replay, so its events are never compared with the journal.
    if (this.#replay.isDone()) return this.#emit(event)
    if (this.#isAbandoned()) return never()
    return new Promise((resolve, reject) =>
      this.#replay.output(event, (stored) => (stored ? resolve() : this.#emit(event).then(resolve, reject))),
    )
  }

  async step(name: string, work: (key: string) => unknown): Promise<Json | undefined> {
    if (this.#isAbandoned()) return await never()
    const { stored, ...step } = this.#replay.step(name)
    if (stored?.usage) this.#options.restoreUsage(stored.usage)
    if (stored?.failure) throw errorOf(stored.failure)
    if (stored) return stored.result
    await this.#whenReplayed(describeStep(step))
    if (this.#isAbandoned()) return await never()
    this.#options.stop.signal.throwIfAborted()
    const result = await this.#run(step, work)
    return this.#isAbandoned() ? await never() : result
  }

  async ask(first: StatusEvent, options: QuestionOptions): Promise<MessageEvent> {
    for (let question = first; ; ) {
      const answer = await this.#replayQuestion(question, options)
      const again = options.again?.(answer)
      // If the journal continues without the repeated question, the results of the lost answer are stored.
      if (!again || !(this.#replay.isDone() || this.#replay.expects(again))) return answer
      question = again
    }
  }

  isAsking(): boolean {
    return this.#openQuestion !== undefined
  }

  isReplaying(): boolean {
    return !this.#replay.isDone()
  }

  close(isDone: boolean): void {
    this.#replay.close(isDone)
  }

  failure(): TaskFailure | undefined {
    return this.#difference === undefined ? undefined : { text: this.#difference }
  }

  pause(): PausedTurn | undefined {
    return this.#difference === undefined ? this.#pause : undefined
  }

  /** Whether this attempt is over. Whatever the code does now, another attempt will do. */
  #isAbandoned(): boolean {
    return this.#difference !== undefined || this.#pause !== undefined
  }

  /**
   * While a question is open, a working status waits for its end. That of a step is dropped instead: a step does not
   * wait, and its events are stored with its result or not at all.
   */
  #emit(event: OutputEvent): Promise<void> {
    const { writer } = this.#options
    const isWorking = event.type === 'status' && isInProgress(event.status.state)
    const question = isWorking ? this.#openQuestion : undefined
    if (event.step === undefined) {
      if (this.#isAbandoned()) return never()
      return question ? question.then(() => this.#emit(event)) : writer.write(event)
    }
    if (this.#difference !== undefined) return never()
    return question ? Promise.resolve() : writer.write(event)
  }

  /** Runs a step and stores its result or failure. */
  async #run(step: Pick<StepEntry, 'step' | 'call'>, work: (key: string) => unknown): Promise<Json | undefined> {
    const { stop, writer, usageOf } = this.#options
    const { signal } = stop
    const entry = { type: 'step', ...step } as const
    this.#runningSteps++
    try {
      await writer.flush()
      const outcome = await settle(() => work(stepKey(step)))
      if ('value' in outcome) {
        const result = toJson(outcome.value, `What the step "${step.step}" returns`)
        await this.#store(defined({ ...entry, result, usage: usageOf(stepKey(step)) }))
        return result
      }
      // A step that failed because of the stop, or for want of a secret that is never stored, may succeed next time.
      if (signal.aborted || isSecretLost(outcome.error)) throw outcome.error
      const failure = failureOf(outcome.error)
      await this.#store(defined({ ...entry, failure, usage: usageOf(stepKey(step)) }))
      throw errorOf(failure, outcome.error)
    } finally {
      this.#runningSteps--
      this.#leaveIfPaused()
    }
  }

  /** Asks in the order of the journal, and after it in the order of the calls. */
  #replayQuestion(question: StatusEvent, options: QuestionOptions): Promise<MessageEvent> {
    if (this.#isAbandoned()) return never()
    return new Promise((resolve, reject) =>
      this.#replay.output(question, (stored) => {
        const answer = this.#lastQuestion.then(() => this.#ask(stored ?? question, options, stored !== undefined))
        this.#lastQuestion = answer.catch(() => {})
        answer.then(resolve, reject)
      }),
    )
  }

  async #ask(question: StatusEvent, options: QuestionOptions, wasAsked: boolean): Promise<MessageEvent> {
    const closed = Promise.withResolvers<void>()
    this.#openQuestion = closed.promise
    try {
      return await this.#answerTo(question, options, wasAsked)
    } finally {
      this.#openQuestion = undefined
      closed.resolve()
    }
  }

  /** Resolves with an answer that is already queued. Otherwise it pauses the turn and never settles. */
  async #answerTo(question: StatusEvent, options: QuestionOptions, wasAsked: boolean): Promise<MessageEvent> {
    const { journal, writer, queue, stop, clock, emitWorking, emitUnanswered } = this.#options
    const { expiresAt, since = clock.now() } = options
    if (this.#isAbandoned()) return await never()
    const number = ++this.#questionCount
    const deadline = expiresAt === undefined ? undefined : { since, expiresAt }
    if (deadline && journal?.unanswered.has(number)) throw inputTimeout(deadline)
    const isStillOpen = wasAsked && this.#replay.isDone() && queue.size === 0
    const expired = isStillOpen ? expiredPause(journal?.pause, clock.now()) : undefined
    if (expired) {
      await this.#store({ type: 'unanswered', question: number })
      emitUnanswered(question, expired)
      throw inputTimeout(expired)
    }
    if (!wasAsked || isStillOpen) await this.#storePause(wasAsked ? undefined : question, deadline, options)
    // A message that interrupts the turn is no answer to it.
    stop.signal.throwIfAborted()
    const answer = queue.take()
    if (answer) {
      if (this.#replay.isDone() && isInterrupted(writer.phase)) emitWorking()
      return answer.event
    }
    this.#pause = { wakeAt: expiresAt }
    this.#leaveIfPaused()
    return await never()
  }

  /** Stores the question, if it is new, together with the pause that follows it. */
  async #storePause(
    question: StatusEvent | undefined,
    deadline: ExpiredQuestion | undefined,
    { onTimeout }: QuestionOptions,
  ): Promise<void> {
    const { message, queue, writer } = this.#options
    const answered = Math.max(message.generation, queue.taken)
    const stored = question && writer.emit(question)
    const policy = onTimeout === 'continue' ? { onTimeout } : {}
    await this.#store({ type: 'paused', answered, ...(deadline && { ...deadline, ...policy }) })
    await stored
  }

  /** Running steps are stored first, because they must not run twice. */
  #leaveIfPaused(): void {
    if (this.#pause && this.#runningSteps === 0) this.#options.stop.leave('paused')
  }

  #whenReplayed(waiting: string): Promise<void> | undefined {
    return this.#replay.isDone() ? undefined : new Promise((resolve) => this.#replay.whenDone(waiting, resolve))
  }

  #store(entry: JournalEntry): Promise<void> {
    const { stop, writer } = this.#options
    if (stop.isOver) return rejected(`This turn is over (${stop.reason ?? 'it has returned'}).`)
    return writer.emit({ type: 'journal', entry })
  }
}

async function settle(work: () => unknown): Promise<{ readonly value: unknown } | { readonly error: unknown }> {
  try {
    return { value: await work() }
  } catch (error) {
    return { error }
  }
}

function isSecretLost(error: unknown): boolean {
  return error instanceof A2AError && (error.reason === 'credentials-gone' || error.reason === 'no-subject-token')
}

function failureOf(error: unknown): StepFailure {
  if (error instanceof A2AError) return { message: error.message, code: error.code }
  return { message: error instanceof Error ? error.message : String(error) }
}

/** The same error for a live and for a stored failure, so that the code which catches it takes the same path. */
function errorOf({ message, code }: StepFailure, cause?: unknown): Error {
  return code ? new A2AError(code, message, { cause }) : new StepFailed(message, { cause })
}

/** The question on which the turn paused, if it has expired and the turn continues without an answer. */
function expiredPause(pause: Journal['pause'], now: number): ExpiredQuestion | undefined {
  const { expiresAt, since = expiresAt, onTimeout } = pause ?? {}
  if (onTimeout !== 'continue' || expiresAt === undefined || since === undefined || expiresAt > now) return undefined
  return { since, expiresAt }
}
