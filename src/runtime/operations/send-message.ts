import { linkSignals } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import { A2AError, taskNotFound } from '../../protocol/errors.ts'
import type { StoredEvent } from '../../protocol/events.ts'
import type { Call, Outcome, SendRequest } from '../../protocol/service.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import { createFold, type Fold, foldUntil } from '../../tasks/fold.ts'
import type { CallerLog } from '../caller-log.ts'
import { acceptMessage } from './accept-message.ts'
import type { OperationContext } from './context.ts'
import type { AcceptedMessage } from './idempotency.ts'
import { limitHistory } from './read-tasks.ts'
import { streamTask } from './stream-message.ts'

/** The answer to a message: the stream of its task, folded to where it rests. */
export async function sendMessage(request: SendRequest, call: Call, house: OperationContext): Promise<Outcome> {
  const { log, settings } = house
  const ticket = await acceptMessage(request, call, house)
  const { historyLength, returnImmediately, blockFor } = request.configuration ?? {}
  const outcome = returnImmediately
    ? await firstOf(log, ticket, call.signal)
    : await restOf(ticket, call, house, shorter(blockFor, settings.blockFor))
  if (!outcome) throw new A2AError('unavailable', 'The call was given up before there was an answer.')
  return outcome.type === 'task' ? { ...outcome, task: limitHistory(outcome.task, historyLength) } : outcome
}

async function firstOf(
  log: CallerLog,
  { task, generation }: AcceptedMessage,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  for await (const event of streamTask(log, task, await foldUntil(log, task, generation), { signal })) {
    if (event.type === 'task' || event.type === 'message') return event
  }
  return undefined
}

async function restOf(
  { task, generation }: AcceptedMessage,
  call: Call,
  { log, runs, settings: { clock } }: OperationContext,
  blockFor: number | undefined,
): Promise<Outcome | undefined> {
  // Nothing lies before the first message of a task, and nothing has to be read.
  const fold = generation === 1 ? createFold(task) : await foldUntil(log, task, generation)
  const end = blockFor === undefined ? undefined : clock.now() + blockFor
  for (let isFirst = true; ; isFirst = false) {
    // A task at work here says itself when it rests, which costs less than to hear of its every event.
    const run = runs.get(task.taskId)
    if (run) {
      const rested = run.whenIdle(fold.generation)
      // As a rule the same time for all: Node keeps one list of timers for each.
      const left = isFirst ? blockFor : Math.max(0, (end ?? 0) - clock.now())
      await (end === undefined || left === undefined ? rested : within(left, rested, clock))
    }
    const stored = await log.read(task.taskId, fold.generation)
    for (const each of stored) {
      fold.apply(each)
      const outcome = outcomeAt(each, fold)
      if (outcome) return outcome
    }
    if (end !== undefined && end <= clock.now()) break
    if (stored.length > 0) continue
    if (run) continue
    if (call.signal.aborted) break
    if (!isFirst && !(await log.head(task.taskId))) throw taskNotFound(task.taskId) // it was erased
    await waitUntil(end, log, { taskId: task.taskId, after: fold.generation, signal: call.signal, clock })
  }
  const unrested = fold.task()
  return unrested && { type: 'task', task: unrested }
}

/** Waits for so many milliseconds at the longest. */
async function within(limit: number, rested: Promise<void>, clock: Clock): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = clock.setTimeout(resolve, limit)
  void rested.then(resolve)
  await promise
  clock.clearTimeout(timer)
}

/** The answer, if this event is where callers stop waiting. */
function outcomeAt({ event }: StoredEvent, fold: Fold): Outcome | undefined {
  if (event.type === 'reply') return { type: 'message', message: event.message }
  if (event.type !== 'status') return undefined
  const { state } = event.status
  const task = isEnded(state) || isInterrupted(state) ? fold.task() : undefined
  return task && { type: 'task', task }
}

async function waitUntil(
  end: number | undefined,
  log: CallerLog,
  { taskId, after, signal, clock }: Waiting,
): Promise<void> {
  if (end === undefined) return await log.wait(taskId, after, signal)
  const limit = linkSignals([signal], Math.max(0, end - clock.now()), clock)
  await log.wait(taskId, after, limit.signal)
  limit.release()
}

interface Waiting {
  readonly taskId: string
  readonly after: number
  readonly signal: AbortSignal
  readonly clock: Clock
}

function shorter(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
