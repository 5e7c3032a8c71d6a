import { linkSignals } from '../../base/abort.ts'
import { type Clock, setAlarm } from '../../base/clock.ts'
import { toJson } from '../../base/json.ts'
import type { MessageEvent, StatusEvent } from '../../protocol/events.ts'
import { isInterrupted } from '../../protocol/states.ts'
import type { OutputEvent } from '../recovery/journal.ts'
import { type ExpiredQuestion, inputTimeout, type TaskFailure, unansweredFailure } from './input-timeout.ts'
import type { MessageQueue } from './message-queue.ts'
import type { Stop } from './stop.ts'
import { isWorkingStatus, type QuestionOptions, type StepExecutor } from './turn-scope.ts'
import type { Writer } from './writer.ts'

export interface LiveStepsOptions {
  readonly writer: Writer
  readonly queue: MessageQueue
  readonly stop: Stop
  readonly clock: Clock
  readonly emitWorking: () => void
  /** Tells that the turn goes on without an answer. */
  readonly emitUnanswered: (question: StatusEvent, late: ExpiredQuestion) => void
}

/** A turn that lives in this process from its beginning to its end. */
export function createLiveSteps(options: LiveStepsOptions): StepExecutor {
  const { writer, queue, stop, clock, emitWorking, emitUnanswered } = options
  let failure: TaskFailure | undefined
  /** One question at a time, also of those who ask side by side. */
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  /** Resolves when the question that was told is dealt with. */
  let answered: Promise<void> | undefined

  function emit(event: OutputEvent): Promise<void> {
    return answered && isWorkingStatus(event) ? answered.then(() => emit(event)) : writer.emit(event)
  }

  return {
    emit,
    step: async (name, work) => toJson(await work(), `What the step "${name}" returns`),
    ask(question, how) {
      const asking = waiting === 0 ? askUntilKnown(question, how) : last.then(() => askUntilKnown(question, how))
      waiting++
      const answer = asking.finally(() => waiting--)
      last = answer.catch(() => {})
      return answer
    },
    isAsking: () => answered !== undefined,
    isReplaying: () => false,
    close() {},
    failure: () => failure,
    pause: () => undefined,
  }

  async function askUntilKnown(question: StatusEvent, how: QuestionOptions): Promise<MessageEvent> {
    for (let asked = question; ; ) {
      const answer = await askNow(asked, how)
      const again = how.again?.(answer)
      if (!again) return answer
      asked = again
    }
  }

  async function askNow(question: StatusEvent, how: QuestionOptions): Promise<MessageEvent> {
    const { expiresAt, since = clock.now(), onTimeout, signal } = how
    signal?.throwIfAborted()
    const dealtWith = Promise.withResolvers<void>()
    answered = dealtWith.promise
    const told = writer.emit(question)
    const late = expiresAt === undefined ? undefined : { since, expiresAt }
    const tooLate = new AbortController()
    const expire = () => {
      if (onTimeout === 'continue') return tooLate.abort('unanswered')
      failure = unansweredFailure({ since: 0, expiresAt: 0, ...late })
      stop.stop('unanswered')
    }
    const release = expiresAt === undefined ? undefined : setAlarm(clock, expiresAt, expire)
    const others = [signal, onTimeout === 'continue' ? tooLate.signal : undefined].filter((each) => each !== undefined)
    const linked = others.length > 0 ? linkSignals([stop.signal, ...others]) : undefined
    try {
      await told
      const next = await queue.next(linked?.signal ?? stop.signal)
      if (isInterrupted(writer.phase)) emitWorking()
      return next.event
    } catch (error) {
      if (!late || !tooLate.signal.aborted || stop.signal.aborted) throw error
      emitUnanswered(question, late)
      throw inputTimeout(late)
    } finally {
      release?.()
      linked?.release()
      answered = undefined
      dealtWith.resolve()
    }
  }
}
