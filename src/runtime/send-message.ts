import { A2AError } from '../protocol/errors.ts'
import type { Call, Outcome, SendRequest } from '../protocol/service.ts'
import { isEnded, isInterrupted } from '../protocol/states.ts'
import { follow } from '../tasks/follow.ts'
import type { TaskLog } from '../tasks/log.ts'
import { type Acceptance, accept } from './accept.ts'
import type { Ticket } from './claims.ts'
import { linkSignals } from './linked-signal.ts'
import { limitHistory } from './present.ts'
import { foldUntil, streamTask } from './stream.ts'

/** The answer to a message: the stream of its task, folded to where it rests. */
export async function sendMessage(request: SendRequest, call: Call, house: Acceptance): Promise<Outcome> {
  const { log } = house.settings
  const ticket = await accept(request, call, house)
  const { historyLength, returnImmediately, blockFor } = request.configuration ?? {}
  const { signal, release } = linkSignals([call.signal], blockFor)
  const outcome = await (returnImmediately ? firstOf : restOf)(log, ticket, signal).finally(release)
  if (!outcome) throw new A2AError('unavailable', 'The call was given up before there was an answer.')
  return outcome.type === 'task' ? { ...outcome, task: limitHistory(outcome.task, historyLength) } : outcome
}

async function restOf(log: TaskLog, { task, generation }: Ticket, signal: AbortSignal): Promise<Outcome | undefined> {
  const fold = await foldUntil(log, task, generation)
  for await (const stored of follow(log, task.taskId, fold.generation, signal)) {
    fold.apply(stored)
    const { event } = stored
    if (event.type === 'reply') return { type: 'message', message: event.message }
    if (event.type !== 'status') continue
    const { state } = event.status
    const rested = isEnded(state) || isInterrupted(state) ? fold.task() : undefined
    if (rested) return { type: 'task', task: rested }
  }
  const unrested = fold.task()
  return unrested && { type: 'task', task: unrested }
}

async function firstOf(log: TaskLog, { task, generation }: Ticket, signal: AbortSignal): Promise<Outcome | undefined> {
  for await (const event of streamTask(log, task, await foldUntil(log, task, generation), { signal })) {
    if (event.type === 'task' || event.type === 'message') return event
  }
  return undefined
}
