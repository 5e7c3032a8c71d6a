import { linkSignals } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { A2AError, fromStoredError, taskExpired, taskNotFound } from '../../protocol/errors.ts'
import type { StoredEvent } from '../../protocol/events.ts'
import type { Call, Outcome, SendQuirks, SendRequest } from '../../protocol/service.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import { createFold, type Fold, foldUntil, limitHistory } from '../../tasks/fold.ts'
import type { CallerLog, OperationContext } from '../caller-log.ts'
import { acceptMessage } from './accept-message.ts'
import type { AcceptedMessage } from './idempotency.ts'
import { foldAccepted, requireTouched, streamTask } from './stream-message.ts'

/** Stores a message and returns the agent's message, or the task once it waits for its caller or has ended. */
export async function sendMessage(request: SendRequest, call: Call, context: OperationContext): Promise<Outcome> {
  const message = await acceptMessage(request, call, context)
  const { historyLength, returnImmediately, blockFor } = request.configuration ?? {}
  const outcome = returnImmediately
    ? await firstOutcome(context.log, message, call.signal)
    : await waitForOutcome(message, call, context, {
        blockFor: shorter(blockFor, context.settings.blockFor),
        quirks: request.quirks,
      })
  if (!outcome) throw new A2AError('unavailable', 'The call was given up before there was an answer.')
  return outcome.type === 'task' ? { ...outcome, task: limitHistory(outcome.task, historyLength) } : outcome
}

/** The message or the task as soon as there is one. */
async function firstOutcome(
  log: CallerLog,
  message: AcceptedMessage,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  for await (const event of streamTask(log, message.task, await foldAccepted(message, log), { signal })) {
    if (event.type === 'task' || event.type === 'message') return event
  }
  return undefined
}

interface WaitOptions {
  readonly quirks: SendQuirks | undefined
  readonly blockFor: number | undefined
}

/** Folds the task until callers stop waiting, or until `blockFor` milliseconds have passed. */
async function waitForOutcome(
  { task, generation }: AcceptedMessage,
  call: Call,
  { log, runs, settings: { clock } }: OperationContext,
  { blockFor, quirks }: WaitOptions,
): Promise<Outcome | undefined> {
  // Nothing precedes the first message of a task, so nothing has to be read.
  const fold = generation === 1 ? createFold(task) : await foldUntil(log, task, generation)
  const end = blockFor === undefined ? undefined : clock.now() + blockFor
  for (let isFirst = true; ; isFirst = false) {
    // If the task runs in this process, waiting for its run is cheaper than following every event.
    const run = runs.get(task.taskId)
    if (run) {
      const idle = run.whenIdle(fold.generation)
      // The first wait has the same duration for all callers: Node keeps one list of timers per duration.
      const left = isFirst ? blockFor : Math.max(0, (end ?? 0) - clock.now())
      await (end === undefined || left === undefined ? idle : withTimeout(idle, left, clock))
    }
    const page = await log.read(task.taskId, fold.generation)
    for (const stored of page) {
      fold.apply(stored)
      if (quirks?.failuresAsErrors) requireTouched(stored.event, quirks.alias ?? task.taskId)
      const outcome = outcomeAt(stored, fold)
      if (outcome) return outcome
    }
    if (end !== undefined && end <= clock.now()) break
    // The run has no outcome to wait for. A repeated request finds the task when the store works again.
    if (run?.failure) throw run.failure
    if (page.length > 0 || run) continue
    if (call.signal.aborted) break
    if (!isFirst) await requireEvents(log, task.taskId)
    await waitForEvents(log, { taskId: task.taskId, after: fold.generation, end, signal: call.signal, clock })
  }
  const unfinished = fold.task()
  return unfinished && { type: 'task', task: unfinished }
}

/** Throws if the task was removed meanwhile. */
async function requireEvents(log: CallerLog, taskId: string): Promise<void> {
  const head = await log.head(taskId)
  if (!head) throw taskNotFound(taskId)
  if (head.phase === 'expired') throw taskExpired(taskId, head.changed)
}

/** The outcome, if callers stop waiting at this event. Throws the error by which the agent rejected the message. */
function outcomeAt({ event }: StoredEvent, fold: Fold): Outcome | undefined {
  if (event.type !== 'status' && event.type !== 'reply') return undefined
  if (event.error) throw fromStoredError(event.error)
  if (event.type === 'reply') return { type: 'message', message: event.message }
  const { state } = event.status
  const task = isEnded(state) || isInterrupted(state) ? fold.task() : undefined
  return task && { type: 'task', task }
}

async function withTimeout(promise: Promise<void>, milliseconds: number, clock: Clock): Promise<void> {
  const { promise: first, resolve } = Promise.withResolvers<void>()
  const timer = clock.setTimeout(resolve, milliseconds)
  void promise.then(resolve)
  await first
  clock.clearTimeout(timer)
}

interface EventWait {
  readonly taskId: string
  readonly after: number
  /** Milliseconds since 1970. */
  readonly end: number | undefined
  readonly signal: AbortSignal
  readonly clock: Clock
}

async function waitForEvents(log: CallerLog, { taskId, after, end, signal, clock }: EventWait): Promise<void> {
  if (end === undefined) return await log.wait(taskId, after, signal)
  const linked = linkSignals([signal], Math.max(0, end - clock.now()), clock)
  await log.wait(taskId, after, linked.signal)
  linked.release()
}

function shorter(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
