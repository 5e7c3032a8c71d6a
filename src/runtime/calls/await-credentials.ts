import { linkSignals } from '../../base/abort.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { runStep, type TurnScope } from '../turns/turn-scope.ts'
import { type CallAbort, orAborted } from './call-abort.ts'
import type { Progress } from './progress.ts'
import type { Relay } from './questions.ts'
import type { RemoteTask } from './remote-task.ts'
import type { ChildQuestion, ChildTaskLink } from './results.ts'

/** Milliseconds until a task that tells nothing more while it waits for credentials is looked at again. */
const lookAgain = 5_000

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
 * Passes on that the other agent needs credentials. They may come in a message to us, which is given; or to the other
 * agent by another way, and it goes on by itself: so it is followed meanwhile.
 */
export async function awaitCredentials(
  asked: ChildQuestion,
  waiting: CredentialsWait,
): Promise<MessageEvent | undefined> {
  const { name, link, scope, relay } = waiting
  await scope.emit(relay.question(asked, link))
  let live: MessageEvent | undefined
  const generation = await runStep(scope, `${name}: credentials`, async () => {
    scope.beginWaiting()
    const letter = await messageOrProgress(waiting)
    scope.endWaiting()
    live = letter?.event
    return letter?.generation ?? 0
  })
  if (generation === 0) return undefined
  const received = live ?? scope.queue.drop(generation)?.event
  if (received) scope.recordAnswer(received)
  return received
}

async function messageOrProgress({ link, scope, remote, abort, progress }: CredentialsWait) {
  const { queue, stop } = scope
  const done = new AbortController()
  const { signal, release } = linkSignals([stop.signal, abort.signal, done.signal])
  const letter = queue.next(signal).catch(() => undefined)
  try {
    await Promise.race([letter, progressOf()])
    done.abort('done')
    if (stop.signal.aborted) throw stop.signal.reason
    // A message that came at the same moment must not be lost.
    return await letter
  } finally {
    release()
  }

  async function progressOf(): Promise<void> {
    while (!signal.aborted) {
      const reader = remote.reader ?? remote.attach(await remote.callee(), link.taskId)
      const next = await orAborted(
        abort,
        reader.peek().catch(() => undefined),
      )
      if (next === 'halted' || signal.aborted) return
      const event = next && !next.done ? next.value : undefined
      if (!event) {
        await new Promise<void>((resolve) => scope.settings.clock.setTimeout(resolve, lookAgain))
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
}
