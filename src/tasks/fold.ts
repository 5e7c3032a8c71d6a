import type { ArtifactEvent, StoredEvent } from '../protocol/events.ts'
import type { Artifact, Message, Part, Task } from '../protocol/model.ts'
import type { NewTask, Snapshot } from './log.ts'
import type { Mutable } from './mutable.ts'
import { withoutMessage } from './without-message.ts'

/**
 * The task as the sum of its events. It grows in place, so that an event costs the same however many came before it.
 */
export interface Fold {
  readonly generation: number
  apply(stored: StoredEvent): void
  /** The task so far. Undefined as long as the agent has made no task of the exchange. */
  task(): Task | undefined
  /** Every message so far, oldest first; also of an exchange that is no task. */
  messages(): readonly Message[]
  snapshot(): Snapshot
}

export function createFold({ taskId, contextId, owner }: NewTask, kept?: Snapshot): Fold {
  let status = kept?.status
  const history: Message[] = [...(kept?.history ?? [])]
  const artifacts = new Map<string, Growing>()
  for (const artifact of kept?.artifacts ?? []) artifacts.set(artifact.artifactId, { artifact })

  /** The status message enters the history when something replaces or answers it, and so at its place in time. */
  function retireStatusMessage() {
    if (!status?.message) return
    history.push(status.message)
    status = withoutMessage(status)
  }

  const fold: Mutable<Fold> = {
    generation: kept?.generation ?? 0,
    apply(stored) {
      fold.generation = stored.generation
      const { event } = stored
      switch (event.type) {
        case 'message':
          retireStatusMessage()
          history.push(event.message)
          return
        case 'reply':
          history.push(event.message)
          return
        case 'status':
          retireStatusMessage()
          status = event.status
          return
        case 'artifact':
          addArtifact(artifacts, event)
          return
        case 'cancel':
        case 'journal':
          return
      }
    },
    task() {
      if (!status) return undefined
      const { generation } = fold
      return { id: taskId, contextId, status, artifacts: assembled(artifacts), history: [...history], generation }
    },
    messages: () => [...history],
    snapshot: () => ({
      taskId,
      contextId,
      owner,
      generation: fold.generation,
      status,
      artifacts: assembled(artifacts),
      history: [...history],
    }),
  }
  return fold
}

interface Growing {
  artifact: Artifact
  /** All of its parts, once there are more than it came with. */
  parts?: Part[]
}

function assembled(artifacts: ReadonlyMap<string, Growing>): readonly Artifact[] {
  const all: Artifact[] = []
  for (const { artifact, parts } of artifacts.values()) all.push(parts ? { ...artifact, parts: [...parts] } : artifact)
  return all
}

function addArtifact(artifacts: Map<string, Growing>, { artifact, append, lastChunk }: ArtifactEvent): void {
  const known = append ? artifacts.get(artifact.artifactId) : undefined
  if (!known) {
    artifacts.set(artifact.artifactId, { artifact })
    return
  }
  // The mark that closes an artifact needs a part on the wire; it is no content.
  const content = lastChunk ? artifact.parts.filter((part) => !isEmptyText(part)) : artifact.parts
  known.parts ??= [...known.artifact.parts]
  known.parts.push(...content)
  const { metadata } = artifact
  if (metadata) known.artifact = { ...known.artifact, metadata: { ...known.artifact.metadata, ...metadata } }
}

function isEmptyText(part: Part): boolean {
  return 'text' in part && part.text === ''
}
