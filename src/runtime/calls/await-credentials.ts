import { sleep } from '../../base/clock.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { messageUnless } from '../turns/require-auth.ts'
import type { TurnScope } from '../turns/turn-scope.ts'
import { type CallAbort, orAborted } from './call-abort.ts'
import type { Progress } from './progress.ts'
import type { Relay } from './questions.ts'
import type { RemoteTask } from './remote-task.ts'
import type { ChildQuestion, ChildTaskLink } from './results.ts'

/** Milliseconds until a waiting task whose stream has ended is read again. */
const readAgainAfter = 5_000

export interface CredentialsWait {
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
  await scope.emit(relay.question(question, link))
  return await messageUnless(scope, `${name}: credentials`, (signal) => untilContinued(wait, signal), [abort.signal])
}

/** Follows the other agent's task until it has left the state `auth-required`. */
async function untilContinued({ link, scope, remote, abort, progress }: CredentialsWait, signal: AbortSignal) {
  while (!signal.aborted) {
    const reader = remote.reader ?? remote.attach(await remote.callee(), link.taskId)
    const next = await orAborted(
      abort,
      reader.peek().catch(() => undefined),
    )
    if (next === 'halted' || signal.aborted) return
    const event = next && !next.done ? next.value : undefined
    if (!event) {
      await sleep(readAgainAfter, signal, scope.settings.clock)
      if (!signal.aborted) remote.attach(await remote.callee(), link.taskId)
      continue
    }
    const state = event.type === 'task' ? event.task.status.state : event.type === 'status' ? event.status.state : ''
    if (state !== 'auth-required' && state !== '') return
    await reader.take()
    remote.child.take(event)
    await progress.emit(event)
  }
}
