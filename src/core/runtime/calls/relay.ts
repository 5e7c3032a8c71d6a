import type { AgentCallOptions } from '../../agent/call-agent.ts'
import type { AgentEvents } from '../../agent/content.ts'
import type { EventSink } from '../../agent/turn.ts'
import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { ArtifactEvent, StatusEvent, StreamEvent } from '../../protocol/events.ts'
import {
  clientTools,
  fromPlainQuestion,
  inputRequestIn,
  toolResult,
  toolUse,
} from '../../protocol/extensions/client-tools.ts'
import { lineageExtension } from '../../protocol/extensions/lineage.ts'
import type { Message, Part, TaskState } from '../../protocol/model.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import type { TurnScope } from '../turns/turn-scope.ts'
import type { ChildQuestion, ChildTaskLink } from './call-steps.ts'

/** Forwards events of the other agent to our caller. */
export interface Relay {
  forward(event: StreamEvent, link: ChildTaskLink, emit: EventSink['emit']): Promise<void>
  /** The question of the other agent as our own. */
  question(question: ChildQuestion, link: ChildTaskLink): StatusEvent
}

export function createRelay(
  { agentEvents, isAsking }: Pick<TurnScope, 'agentEvents' | 'isAsking'>,
  kind: NonNullable<AgentCallOptions['relay']>,
): Relay {
  let hasStatus = false

  return {
    async forward(event, link, emit) {
      if (kind === 'none' || event.type === 'message') return
      if (event.type === 'artifact') {
        const forwarded = kind === 'all' ? forwardedArtifact(event, link) : undefined
        if (forwarded) await emit(forwarded)
        return
      }
      if (event.type === 'task' && kind === 'all') {
        for (const artifact of event.task.artifacts) {
          const forwarded = forwardedArtifact({ type: 'artifact', artifact }, link)
          if (forwarded) await emit(forwarded)
        }
      }
      // A working status would replace an open question to our caller.
      if (isAsking()) return
      const { state, message } = event.type === 'task' ? event.task.status : event.status
      const isProgress = !isEnded(state) && !isInterrupted(state) && message !== undefined
      if (isProgress || !hasStatus) {
        hasStatus = true
        const parts = isProgress ? message.parts : [{ text: `Asked ${link.agent}.` }]
        const forwarded = { link, parts, message: isProgress ? message : undefined, childState: state }
        await emit(forwardedStatus(agentEvents, 'working', forwarded))
      }
      if (state === 'completed') {
        const parts = [{ text: `Received ${link.agent}'s result.` }]
        await emit(forwardedStatus(agentEvents, 'working', { link, parts, childState: state }))
      }
    },
    question({ asks, question }, link) {
      const message = question && withOurIds(fromPlainQuestion(question), link.taskId)
      const parts = message?.parts ?? [{ text: `${link.agent} needs something to go on, and does not say what.` }]
      return forwardedStatus(agentEvents, asks, { link, parts, message })
    },
  }
}

/** The inverse of `withOurIds`, for the answer to the other agent. */
export function withTheirIds(parts: readonly Part[], taskId: string): readonly Part[] {
  const prefix = `${taskId}/`
  const theirs = (id: Json | undefined) =>
    typeof id === 'string' && id.startsWith(prefix) ? id.slice(prefix.length) : id
  return parts.map((part) => withId(part, toolResult, theirs))
}

/**
 * Request ids are unique only within a task. In our task, the ids of the other agent get its task id as a prefix, so that
 * requests of two agents are never confused.
 */
function withOurIds(question: Message, taskId: string): Message {
  const request = inputRequestIn(question)
  const ours = (id: Json | undefined) => (typeof id === 'string' ? `${taskId}/${id}` : id)
  const parts = question.parts.map((part) => withId(part, toolUse, ours))
  if (typeof request?.requestId !== 'string') return { ...question, parts }
  const renamed = { ...request, requestId: `${taskId}/${request.requestId}` }
  return { ...question, parts, metadata: { ...question.metadata, [clientTools]: renamed } }
}

function withId(part: Part, mediaType: string, change: (id: Json | undefined) => Json | undefined): Part {
  if (part.mediaType !== mediaType || !('data' in part) || !isObject(part.data)) return part
  const toolUseId = change(part.data.toolUseId)
  return toolUseId === undefined ? part : { ...part, data: { ...part.data, toolUseId } }
}

interface ForwardedEvent {
  readonly link: ChildTaskLink
  readonly parts?: readonly Part[]
  /** The message of the other agent. */
  readonly message?: Message | undefined
  readonly childState?: TaskState
}

/** A status of our task with the content of the other agent's, and a link to its task. */
function forwardedStatus(
  agentEvents: AgentEvents,
  state: 'working' | 'input-required' | 'auth-required',
  { link, parts, message, childState = state }: ForwardedEvent,
): StatusEvent {
  const metadata = childMetadata(link, childState, message?.metadata)
  const event = agentEvents.status(state, parts && { parts })
  const ourMessage = event.status.message
  if (!ourMessage) return { ...event, metadata }
  const { [lineageExtension]: _, ...otherMetadata } = message?.metadata ?? {}
  const forwarded: Message = {
    ...ourMessage,
    referenceTaskIds: [link.taskId],
    metadata: { ...otherMetadata, ...metadata },
    ...(message?.extensions && { extensions: message.extensions }),
  }
  return { ...event, status: { ...event.status, message: forwarded }, metadata }
}

/**
 * An artifact of the other agent as one of ours. The same artifact again replaces it. Undefined if it has no content: other
 * agents send empty texts, often to close an artifact.
 */
function forwardedArtifact(
  { artifact, append, lastChunk }: ArtifactEvent,
  link: ChildTaskLink,
): ArtifactEvent | undefined {
  const parts = artifact.parts.filter((part) => !('text' in part && part.text === ''))
  if (parts.length === 0 && !(append && lastChunk)) return undefined
  const metadata = { ...artifact.metadata, ...childMetadata(link, 'working', artifact.metadata) }
  const artifactId = `${link.taskId}-${artifact.artifactId}`
  return {
    type: 'artifact',
    artifact: { ...artifact, artifactId, parts, metadata },
    append: append ?? false,
    lastChunk: lastChunk ?? false,
  }
}

/** Links the other agent's task. The tasks that it links itself stay below it. */
function childMetadata(
  { agent, taskId, contextId }: ChildTaskLink,
  state: TaskState,
  metadata: JsonObject | undefined,
): JsonObject {
  const children = childrenIn(metadata?.[lineageExtension])
  const child: JsonObject = {
    agent,
    taskId,
    ...(contextId !== undefined && { contextId }),
    state,
    ...(children.length > 0 && { children }),
  }
  return { [lineageExtension]: { children: [child] } }
}

function childrenIn(lineage: Json | undefined): readonly Json[] {
  if (typeof lineage !== 'object' || lineage === null || !('children' in lineage)) return []
  const { children } = lineage
  return Array.isArray(children) ? children.slice(0, 64) : []
}
