import type { Voice } from '../../agent/voice.ts'
import type { ArtifactEvent, StatusEvent } from '../../protocol/events.ts'
import { lineageExtension } from '../../protocol/lineage.ts'
import type { Json, JsonObject, Message, Part, TaskState } from '../../protocol/model.ts'

/** A task of another agent, for our own caller. */
export interface Link {
  readonly agent: string
  readonly taskId: string
  readonly contextId?: string | undefined
}

/** A status of ours that tells what the other agent says, and where. */
export function relayed(voice: Voice, state: 'working' | 'input-required' | 'auth-required', told: Told): StatusEvent {
  const { link, message, childState = state } = told
  const metadata = linked(link, childState, message?.metadata)
  const event = voice.status(state, told.parts)
  const own = event.status.message
  if (!own) return { ...event, metadata }
  const { [lineageExtension]: _, ...beside } = message?.metadata ?? {}
  const said: Message = {
    ...own,
    referenceTaskIds: [link.taskId],
    metadata: { ...beside, ...metadata },
    ...(message?.extensions && { extensions: message.extensions }),
  }
  return { ...event, status: { ...event.status, message: said }, metadata }
}

export interface Told {
  readonly link: Link
  readonly parts?: readonly Part[]
  /** Of the other agent. */
  readonly message?: Message | undefined
  readonly childState?: TaskState
}

/** An artifact of the other agent as one of ours. The same again replaces it. */
export function relayedArtifact({ artifact, append, lastChunk }: ArtifactEvent, link: Link): ArtifactEvent {
  const metadata = { ...artifact.metadata, ...linked(link, 'working', artifact.metadata) }
  const artifactId = `${link.taskId}-${artifact.artifactId}`
  return {
    type: 'artifact',
    artifact: { ...artifact, artifactId, metadata },
    ...(append !== undefined && { append }),
    ...(lastChunk !== undefined && { lastChunk }),
  }
}

/** What stands behind the other agent's task stays behind it. */
function linked({ agent, taskId, contextId }: Link, state: TaskState, theirs: JsonObject | undefined): JsonObject {
  const children = childrenIn(theirs?.[lineageExtension])
  const child: JsonObject = {
    agent,
    taskId,
    ...(contextId !== undefined && { contextId }),
    state,
    ...(children.length > 0 && { children }),
  }
  return { [lineageExtension]: { children: [child] } }
}

function childrenIn(told: Json | undefined): readonly Json[] {
  if (typeof told !== 'object' || told === null || !('children' in told)) return []
  const { children } = told
  return Array.isArray(children) ? children.slice(0, 64) : []
}
