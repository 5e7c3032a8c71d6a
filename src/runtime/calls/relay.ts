import type { CallOptions } from '../../agent/calling.ts'
import type { Mouth } from '../../agent/speech.ts'
import { summedUp } from '../../protocol/client-tools.ts'
import type { StatusEvent, StreamEvent } from '../../protocol/events.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import type { Scene } from '../scene.ts'
import { type Link, relayed, relayedArtifact } from './link.ts'
import type { Asked } from './outcome.ts'
import { withOurIds } from './request-ids.ts'

/** Tells our caller what the other agent tells us. */
export interface Relay {
  (event: StreamEvent, link: Link, emit: Mouth['emit']): Promise<void>
  /** What it needs, as our own question. */
  question(asked: Asked, link: Link): StatusEvent
}

export function createRelay(
  { voice, isAsking }: Pick<Scene, 'voice' | 'isAsking'>,
  kind: NonNullable<CallOptions['relay']>,
): Relay {
  let isKnown = false

  async function relay(event: StreamEvent, link: Link, emit: Mouth['emit']): Promise<void> {
    if (kind === 'none' || event.type === 'message') return
    if (event.type === 'artifact') {
      if (kind === 'all') await emit(relayedArtifact(event, link))
      return
    }
    if (event.type === 'task' && kind === 'all') {
      for (const artifact of event.task.artifacts) await emit(relayedArtifact({ type: 'artifact', artifact }, link))
    }
    const { state, message } = event.type === 'task' ? event.task.status : event.status
    const isNews = !isEnded(state) && !isInterrupted(state) && message !== undefined
    if (!isNews && isKnown) return
    // That we work would take the question away that our caller is asked meanwhile.
    if (isAsking()) return
    const parts = isNews ? message.parts : [{ text: `Asked ${link.agent}.` }]
    isKnown = true
    await emit(relayed(voice, 'working', { link, parts, message: isNews ? message : undefined, childState: state }))
  }

  return Object.assign(relay, {
    question({ asks, question }: Asked, link: Link): StatusEvent {
      const message = question && withOurIds(summedUp(question), link.taskId)
      const parts = message?.parts ?? [{ text: `${link.agent} needs something to go on, and does not say what.` }]
      return relayed(voice, asks, { link, parts, message })
    },
  })
}
