import { sleep } from '../../base/clock.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { messageUnless } from '../turns/require-auth.ts'
import type { TurnScope } from '../turns/turn-scope.ts'
import { type CallAbort, orAborted } from './call-abort.ts'
import { type ChildQuestion, type ChildTaskLink, callStepName } from './call-steps.ts'
import type { Progress } from './progress.ts'
import type { Relay } from './relay.ts'
import type { RemoteTask } from './remote-task.ts'

/** Milliseconds until a waiting task whose stream has ended is read again. */
const readAgainAfter = 5_000

/**
 * Asks our caller the questions of other agents one at a time. Every question gets a number that is stored with it, so
 * that a resumed turn asks in the same order.
 */
export interface QuestionQueue {
  nextTicket(): number
  /** Marks a ticket as used that was given before a restart. */
  restore(ticket: number): void
  /** Runs `ask` after the questions of all lower tickets. */
  inOrder<T>(ticket: number, ask: () => Promise<T>): Promise<T>
}

export function createQuestionQueue(): QuestionQueue {
  let next = 0
  let current = 0
  const finished = new Set<number>()
  const waiting = new Map<number, () => void>()

  function finish(ticket: number): void {
    finished.add(ticket)
    while (finished.delete(current)) current++
    waiting.get(current)?.()
  }

  return {
    nextTicket: () => next++,
    restore(ticket) {
      next = Math.max(next, ticket + 1)
    },
    async inOrder(ticket, ask) {
      if (ticket > current) await new Promise<void>((resolve) => waiting.set(ticket, resolve))
      try {
        return await ask()
      } finally {
        waiting.delete(ticket)
        finish(ticket)
      }
    },
  }
}

export interface CredentialsWait {
  /** The name of the call. */
  readonly name: string
  readonly link: ChildTaskLink
  readonly scope: TurnScope
  readonly remote: RemoteTask
  readonly abort: CallAbort
  readonly relay: Relay
  readonly progress: Progress
}

/**
 * Forwards the other agent's need for credentials to our caller. Resolves with the caller's message, or with undefined
 * if the other agent got its credentials elsewhere and has continued by itself.
 */
export async function awaitCredentials(
  question: ChildQuestion,
  wait: CredentialsWait,
): Promise<MessageEvent | undefined> {
  const { name, link, scope, relay, abort } = wait
  await scope.emit(relay.question(question, link), true)
  const step = callStepName(name, 'credentials')
  return await messageUnless(scope, step, (signal) => untilContinued(wait, signal), [abort.signal])
}

/** Follows the other agent's task until it has left the state `auth-required`. */
async function untilContinued(wait: CredentialsWait, signal: AbortSignal): Promise<void> {
  const { link, scope, remote, abort, progress } = wait
  while (!signal.aborted) {
    const reader = remote.reader ?? remote.attach(await remote.agent(), link.taskId)
    const peeked = reader.peek().catch(() => undefined)
    const next = await orAborted(abort, peeked)
    if (next === 'aborted' || signal.aborted) return
    const event = next && !next.done ? next.value : undefined
    if (!event) {
      await sleep(readAgainAfter, signal, scope.settings.clock)
      if (!signal.aborted) remote.attach(await remote.agent(), link.taskId)
      continue
    }
    const state = event.type === 'task' ? event.task.status.state : event.type === 'status' ? event.status.state : ''
    if (state !== 'auth-required' && state !== '') return
    await reader.take()
    remote.child.apply(event)
    await progress.emit(event)
  }
}
