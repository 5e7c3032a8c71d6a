import { linkSignals } from '../../base/abort.ts'
import { type Clock, setAlarm } from '../../base/clock.ts'
import { type Json, toJson } from '../../base/json.ts'
import type { MessageEvent, StatusEvent } from '../../protocol/events.ts'
import { isInProgress, isInterrupted } from '../../protocol/states.ts'
import type { OutputEvent } from '../recovery/journal.ts'
import { type ExpiredQuestion, inputTimeout, type TaskFailure, unansweredFailure } from './failures.ts'
import type { MessageQueue } from './message-queue.ts'
import type { Stop } from './stop.ts'
import type { QuestionOptions, StepExecutor } from './turn-scope.ts'
import type { Writer } from './writer.ts'

export interface LiveStepsOptions {
  readonly writer: Writer
  readonly queue: MessageQueue
  readonly stop: Stop
  readonly clock: Clock
  readonly emitWorking: () => void
  /** Emits that the turn continues without an answer. */
  readonly emitUnanswered: (question: StatusEvent, expired: ExpiredQuestion) => void
}

/** Executes a turn that lives and dies with this process. */
export class LiveSteps implements StepExecutor {
  readonly #options: LiveStepsOptions
  #failure: TaskFailure | undefined
  /** Settles with the last question: questions of concurrent code are asked one after the other. */
  #lastQuestion: Promise<unknown> = Promise.resolve()
  #waitingQuestions = 0
  /** Resolves when the open question is answered or given up. Undefined while no question is open. */
  #openQuestion: Promise<void> | undefined

  constructor(options: LiveStepsOptions) {
    this.#options = options
  }

  emit(event: OutputEvent): Promise<void> {
    return this.#openQuestion && event.type === 'status' && isInProgress(event.status.state)
      ? this.#openQuestion.then(() => this.emit(event))
      : this.#options.writer.write(event)
  }

  async step(name: string, work: () => unknown): Promise<Json | undefined> {
    await this.#options.writer.flush()
    return toJson(await work(), `What the step "${name}" returns`)
  }

  ask(question: StatusEvent, options: QuestionOptions): Promise<MessageEvent> {
    const start = () => this.#askUntilAnswered(question, options)
    const asking = this.#waitingQuestions === 0 ? start() : this.#lastQuestion.then(start)
    this.#waitingQuestions++
    const answer = asking.finally(() => this.#waitingQuestions--)
    this.#lastQuestion = answer.catch(() => {})
    return answer
  }

  isAsking(): boolean {
    return this.#openQuestion !== undefined
  }

  isReplaying(): boolean {
    return false
  }

  close(): void {}

  failure(): TaskFailure | undefined {
    return this.#failure
  }

  pause(): undefined {
    return undefined
  }

  async #askUntilAnswered(first: StatusEvent, options: QuestionOptions): Promise<MessageEvent> {
    for (let question = first; ; ) {
      const answer = await this.#ask(question, options)
      const again = options.again?.(answer)
      if (!again) return answer
      question = again
    }
  }

  async #ask(question: StatusEvent, options: QuestionOptions): Promise<MessageEvent> {
    const { writer, queue, stop, clock, emitWorking, emitUnanswered } = this.#options
    const { expiresAt, since = clock.now(), onTimeout, signal } = options
    signal?.throwIfAborted()
    const closed = Promise.withResolvers<void>()
    this.#openQuestion = closed.promise
    const stored = writer.emit(question)
    const deadline = expiresAt === undefined ? undefined : { since, expiresAt }
    const timeout = new AbortController()
    const expire = () => {
      if (onTimeout === 'continue') return timeout.abort('unanswered')
      this.#failure = unansweredFailure({ since: 0, expiresAt: 0, ...deadline })
      stop.stop('unanswered')
    }
    const clearAlarm = expiresAt === undefined ? undefined : setAlarm(clock, expiresAt, expire)
    const signals = [signal, onTimeout === 'continue' ? timeout.signal : undefined].filter((one) => one !== undefined)
    const linked = signals.length > 0 ? linkSignals([stop.signal, ...signals]) : undefined
    try {
      await stored
      const answer = await queue.next(linked?.signal ?? stop.signal)
      if (isInterrupted(writer.phase)) emitWorking()
      return answer.event
    } catch (error) {
      if (!deadline || !timeout.signal.aborted || stop.signal.aborted) throw error
      emitUnanswered(question, deadline)
      throw inputTimeout(deadline)
    } finally {
      clearAlarm?.()
      linked?.release()
      this.#openQuestion = undefined
      closed.resolve()
    }
  }
}
