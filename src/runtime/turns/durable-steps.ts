import { rejected } from '../../agent/turn-output.ts'
import type { Clock } from '../../base/clock.ts'
import { toJson } from '../../base/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { JournalEntry, MessageEvent, StatusEvent, StepEntry, StepFailure } from '../../protocol/events.ts'
import { isInterrupted } from '../../protocol/states.ts'
import { type Journal, type OutputEvent, stepKey } from '../recovery/journal.ts'
import { createReplay, describeStep } from '../recovery/replay.ts'
import { type ExpiredQuestion, inputTimeout } from './input-timeout.ts'
import type { MessageQueue, QueuedMessage } from './message-queue.ts'
import type { Stop } from './stop.ts'
import { isWorkingStatus, never, type PausedTurn, type QuestionOptions, type StepExecutor } from './turn-scope.ts'
import type { Writer } from './writer.ts'

export interface DurableStepsOptions {
  /** What an earlier run of this turn has left. */
  readonly journal: Journal | undefined
  /** Nothing new is to be done. */
  readonly isCanceled?: true | undefined
  readonly message: QueuedMessage
  readonly writer: Writer
  readonly queue: MessageQueue
  readonly stop: Stop
  readonly clock: Clock
  readonly emitWorking: () => void
  /** Tells that the turn goes on without an answer. */
  readonly emitUnanswered: (question: StatusEvent, late: ExpiredQuestion) => void
}

/** A turn that can be left at any time and gone on with elsewhere. */
export function createDurableSteps(options: DurableStepsOptions): StepExecutor {
  const { journal, isCanceled, message, writer, queue, stop, clock, emitWorking, emitUnanswered } = options
  let difference: string | undefined
  let pause: PausedTurn | undefined
  /** One question at a time, also of those who ask side by side. */
  let last: Promise<unknown> = Promise.resolve()
  let questions = 0
  /** Resolves when the question that was told is dealt with. */
  let answered: Promise<void> | undefined
  let underWay = 0

  const replay = createReplay(journal, clock, (text) => {
    difference ??= text
    stop.stop('differs')
  })

  if (isCanceled) replay.whenDone('its end', () => stop.stop('canceled'))

  /** What comes now comes too late: another run will do it. */
  const isLeft = () => difference !== undefined || pause !== undefined

  function store(entry: JournalEntry): Promise<void> {
    if (stop.isOver) return rejected(`This turn is over (${stop.reason ?? 'it has returned'}).`)
    return writer.emit({ type: 'journal', entry })
  }

  function whenDone(what: string): Promise<void> | undefined {
    return replay.isDone() ? undefined : new Promise((resolve) => replay.whenDone(what, resolve))
  }

  /** Steps that are under way are stored first: they must not be done twice. */
  function leave(): void {
    if (pause && underWay === 0) stop.leave('paused')
  }

  async function perform(step: Pick<StepEntry, 'step' | 'call'>, work: (key: string) => unknown) {
    underWay++
    try {
      const done = await settle(() => work(stepKey(step)))
      const entry = { type: 'step', ...step } as const
      if ('value' in done) {
        const result = toJson(done.value, `What the step "${step.step}" returns`)
        await store(result === undefined ? entry : { ...entry, result })
        return result
      }
      // Whoever is stopped fails for that reason alone, and may succeed next time.
      if (stop.signal.aborted) throw done.error
      // What is missing because it is never stored may be there next time.
      if (isGone(done.error)) throw done.error
      const failure = failureOf(done.error)
      await store({ ...entry, failure })
      throw revive(failure, done.error)
    } finally {
      underWay--
      leave()
    }
  }

  /** In the order in which they were told before, and then as they come. */
  function ask(question: StatusEvent, waiting: QuestionOptions): Promise<MessageEvent> {
    if (isLeft()) return never()
    return new Promise((resolve, reject) =>
      replay.output(question, (stored) => {
        const answer = last.then(() => askNow(stored ?? question, waiting, stored !== undefined))
        last = answer.catch(() => {})
        answer.then(resolve, reject)
      }),
    )
  }

  /** Who is left for the answer is never told that it has come. */
  async function askNow(question: StatusEvent, waiting: QuestionOptions, wasAsked: boolean): Promise<MessageEvent> {
    const dealtWith = Promise.withResolvers<void>()
    answered = dealtWith.promise
    try {
      return await answerTo(question, waiting, wasAsked)
    } finally {
      answered = undefined
      dealtWith.resolve()
    }
  }

  async function answerTo(question: StatusEvent, waiting: QuestionOptions, wasAsked: boolean): Promise<MessageEvent> {
    const { expiresAt, since = clock.now(), onTimeout } = waiting
    if (isLeft()) return await never()
    const place = ++questions
    const late = expiresAt === undefined ? undefined : { since, expiresAt }
    if (late && journal?.unanswered.has(place)) throw inputTimeout(late)
    const left = wasAsked && replay.isDone() && queue.size === 0
    const over = left ? expired(journal?.pause, clock.now()) : undefined
    if (over) {
      await store({ type: 'unanswered', question: place })
      emitUnanswered(question, over)
      throw inputTimeout(over)
    }
    if (!wasAsked || left) {
      const answered = Math.max(message.generation, queue.taken)
      const asked = wasAsked ? undefined : writer.emit(question)
      const policy = onTimeout === 'continue' ? { onTimeout } : {}
      await store({ type: 'paused', answered, ...(late && { ...late, ...policy }) })
      await asked
    }
    const next = queue.take()
    if (next) {
      if (replay.isDone() && isInterrupted(writer.phase)) emitWorking()
      return next.event
    }
    pause = { wakeAt: expiresAt }
    leave()
    return await never()
  }

  /** What a step says is kept with its result, or not at all: it goes on although the caller is asked meanwhile. */
  function emit(event: OutputEvent): Promise<void> {
    if (event.step === undefined) {
      if (isLeft()) return never()
      return answered && isWorkingStatus(event) ? answered.then(() => emit(event)) : writer.emit(event)
    }
    if (difference !== undefined) return never()
    return answered && isWorkingStatus(event) ? Promise.resolve() : writer.emit(event)
  }

  return {
    emit(event) {
      // A step is only done when all was replayed, and what it says is not compared.
      if (replay.isDone()) return emit(event)
      if (isLeft()) return never()
      return new Promise((resolve, reject) =>
        replay.output(event, (stored) => (stored ? resolve() : emit(event).then(resolve, reject))),
      )
    },
    async step(name, work) {
      if (isLeft()) return await never()
      const { stored, ...step } = replay.step(name)
      if (stored?.failure) throw revive(stored.failure)
      if (stored) return stored.result
      await whenDone(describeStep(step))
      if (isLeft()) return await never()
      stop.signal.throwIfAborted()
      const result = await perform(step, work)
      return isLeft() ? await never() : result
    },
    async ask(question, waiting) {
      for (let asked = question; ; ) {
        const answer = await ask(asked, waiting)
        const again = waiting.again?.(answer)
        // What was done with an answer is stored, so that who has gone on needs it no more.
        if (!again || !(replay.isDone() || replay.expects(again))) return answer
        asked = again
      }
    },
    isAsking: () => answered !== undefined,
    isReplaying: () => !replay.isDone(),
    close: replay.close,
    failure: () => (difference === undefined ? undefined : { text: difference }),
    pause: () => (difference === undefined ? pause : undefined),
  }
}

/** A step that failed, now or before a restart: in both cases this is all that is known of it. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed'
}

async function settle(work: () => unknown): Promise<{ readonly value: unknown } | { readonly error: unknown }> {
  try {
    return { value: await work() }
  } catch (error) {
    return { error }
  }
}

function isGone(error: unknown): boolean {
  return error instanceof A2AError && (error.reason === 'credentials-gone' || error.reason === 'no-subject-token')
}

function failureOf(error: unknown): StepFailure {
  if (error instanceof A2AError) return { message: error.message, code: error.code }
  return { message: error instanceof Error ? error.message : String(error) }
}

/** The same error whether it was stored meanwhile or not, so that code which catches it goes the same way. */
function revive({ message, code }: StepFailure, cause?: unknown): Error {
  return code ? new A2AError(code, message, { cause }) : new StepFailed(message, { cause })
}

/** The turn was waiting until then, and goes on without an answer. */
function expired(pause: Journal['pause'], now: number): ExpiredQuestion | undefined {
  const { expiresAt, since = expiresAt, onTimeout } = pause ?? {}
  if (onTimeout !== 'continue' || expiresAt === undefined || since === undefined || expiresAt > now) return undefined
  return { since, expiresAt }
}
