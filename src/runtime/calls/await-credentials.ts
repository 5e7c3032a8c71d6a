import { linkSignals } from '../../base/abort.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { runStep, type TurnScope } from '../turns/turn-scope.ts'
import { type CallAbort, orHalted } from './call-abort.ts'
import type { Progress } from './progress.ts'
import type { Relay } from './questions.ts'
import type { RemoteTask } from './remote-task.ts'
import type { Asked, ChildTaskLink } from './results.ts'

/** Milliseconds until a task that tells nothing more while it waits for credentials is looked at again. */
const lookAgain = 5_000

export interface Waiting {
  readonly name: string
  readonly link: ChildTaskLink
  readonly scene: TurnScope
  readonly contact: RemoteTask
  readonly brake: CallAbort
  readonly relay: Relay
  readonly progress: Progress
}

/**
 * Passes on that the other agent needs credentials. They may come in a message to us, which is given; or to the other
 * agent by another way, and it goes on by itself: so it is followed meanwhile.
 */
export async function awaitCredentials(asked: Asked, waiting: Waiting): Promise<MessageEvent | undefined> {
  const { name, link, scene, relay } = waiting
  await scene.emit(relay.question(asked, link))
  let live: MessageEvent | undefined
  const generation = await runStep(scene, `${name}: credentials`, async () => {
    scene.waits()
    const letter = await messageOrProgress(waiting)
    scene.goOn()
    live = letter?.received
    return letter?.generation ?? 0
  })
  if (generation === 0) return undefined
  const received = live ?? scene.inbox.drop(generation)?.received
  if (received) scene.heard(received)
  return received
}

async function messageOrProgress({ link, scene, contact, brake, progress }: Waiting) {
  const { inbox, stop } = scene
  const done = new AbortController()
  const { signal, release } = linkSignals([stop.signal, brake.signal, done.signal])
  const letter = inbox.next(signal).catch(() => undefined)
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
      const reader = contact.reader ?? contact.attach(await contact.callee(), link.taskId)
      const next = await orHalted(
        brake,
        reader.peek().catch(() => undefined),
      )
      if (next === 'halted' || signal.aborted) return
      const event = next && !next.done ? next.value : undefined
      if (!event) {
        await new Promise<void>((resolve) => scene.settings.clock.setTimeout(resolve, lookAgain))
        if (!signal.aborted) contact.attach(await contact.callee(), link.taskId)
        continue
      }
      const state = event.type === 'task' ? event.task.status.state : event.type === 'status' ? event.status.state : ''
      if (state !== 'auth-required' && state !== '') return
      await reader.take()
      contact.child.take(event)
      await progress.tell(event)
    }
  }
}
