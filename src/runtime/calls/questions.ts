import type { CallOptions } from '../../agent/call-agent.ts'
import type { EventSink } from '../../agent/turn-output.ts'
import { isObject, type Json } from '../../base/json.ts'
import type { StatusEvent, StreamEvent } from '../../protocol/events.ts'
import {
  clientTools,
  collapseInputRequest,
  inputRequestIn,
  toolResult,
  toolUse,
} from '../../protocol/extensions/client-tools.ts'
import type { Message, Part } from '../../protocol/model.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import type { TurnScope } from '../turns/turn-scope.ts'
import { type ChildQuestion, type ChildTaskLink, forwardedStatus, relayedArtifact } from './results.ts'

/**
 * One question at a time goes to the caller. Each has a number, given when it comes up and stored with it, so that a
 * turn that is resumed asks in the same order.
 */
export interface QuestionQueue {
  ticket(): number
  /** One that was given before a restart. */
  saw(ticket: number): void
  inTurn<T>(ticket: number, ask: () => Promise<T>): Promise<T>
}

export function createQuestionQueue(): QuestionQueue {
  let given = 0
  let served = 0
  const done = new Set<number>()
  const waiting = new Map<number, () => void>()

  function finish(ticket: number): void {
    done.add(ticket)
    while (done.delete(served)) served++
    waiting.get(served)?.()
  }

  return {
    ticket: () => given++,
    saw(ticket) {
      given = Math.max(given, ticket + 1)
    },
    async inTurn(ticket, ask) {
      if (ticket > served) await new Promise<void>((resolve) => waiting.set(ticket, resolve))
      try {
        return await ask()
      } finally {
        waiting.delete(ticket)
        finish(ticket)
      }
    },
  }
}

export function withTheirIds(parts: readonly Part[], taskId: string): readonly Part[] {
  const prefix = `${taskId}/`
  const theirs = (id: Json | undefined) =>
    typeof id === 'string' && id.startsWith(prefix) ? id.slice(prefix.length) : id
  return parts.map((part) => withId(part, toolResult, theirs))
}

/** Tells our caller what the other agent tells us. */
export interface Relay {
  (event: StreamEvent, link: ChildTaskLink, emit: EventSink['emit']): Promise<void>
  /** What it needs, as our own question. */
  question(asked: ChildQuestion, link: ChildTaskLink): StatusEvent
}

export function createRelay(
  { agentEvents, isAsking }: Pick<TurnScope, 'agentEvents' | 'isAsking'>,
  kind: NonNullable<CallOptions['relay']>,
): Relay {
  let isKnown = false

  async function relay(event: StreamEvent, link: ChildTaskLink, emit: EventSink['emit']): Promise<void> {
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
    await emit(
      forwardedStatus(agentEvents, 'working', {
        link,
        parts,
        message: isNews ? message : undefined,
        childState: state,
      }),
    )
  }

  return Object.assign(relay, {
    question({ asks, question }: ChildQuestion, link: ChildTaskLink): StatusEvent {
      const message = question && withOurIds(collapseInputRequest(question), link.taskId)
      const parts = message?.parts ?? [{ text: `${link.agent} needs something to go on, and does not say what.` }]
      return forwardedStatus(agentEvents, asks, { link, parts, message })
    },
  })
}

function withId(part: Part, mediaType: string, change: (id: Json | undefined) => Json | undefined): Part {
  if (part.mediaType !== mediaType || !('data' in part) || !isObject(part.data)) return part
  const toolUseId = change(part.data.toolUseId)
  return toolUseId === undefined ? part : { ...part, data: { ...part.data, toolUseId } }
}

/**
 * A request of another agent has an id that is its own in the task of that agent only. In ours it goes by that task's
 * id, too, so that two agents who ask are never mixed up, and the answer gets its own id back on its way down.
 */
function withOurIds(question: Message, taskId: string): Message {
  const request = inputRequestIn(question)
  const ours = (id: Json | undefined) => (typeof id === 'string' ? `${taskId}/${id}` : id)
  const parts = question.parts.map((part) => withId(part, toolUse, ours))
  if (typeof request?.requestId !== 'string') return { ...question, parts }
  const asked = { ...request, requestId: `${taskId}/${request.requestId}` }
  return { ...question, parts, metadata: { ...question.metadata, [clientTools]: asked } }
}
