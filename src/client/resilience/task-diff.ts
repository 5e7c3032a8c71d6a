import type { ArtifactEvent, StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Part, Task, TaskStatus } from '../../protocol/model.ts'
import { isEnded } from '../../protocol/states.ts'

/** Tells what of a task its caller has not seen. */
export interface TaskDiff {
  record(event: StreamEvent): void
  /** What a caller who has been told this much must be told to know all of the task. */
  missingEvents(task: Task): readonly StreamEvent[]
  /** The event without what is known of it; undefined if all is. */
  changeIn(event: StreamEvent): StreamEvent | undefined
}

export function createSeen(marks = createMarks()): TaskDiff {
  const { artifacts } = marks

  /** What is new in an artifact that is told as a whole. */
  function newsOfArtifact(artifact: Artifact): Pick<ArtifactEvent, 'artifact' | 'append'> | undefined {
    const known = artifacts.get(artifact.artifactId)
    if (!known) return { artifact }
    const content = contentOf(artifact)
    if (markOf(content.slice(0, known.parts)).digest !== known.digest) return { artifact }
    const parts = content.slice(known.parts)
    return parts.length === 0 ? undefined : { artifact: { ...artifact, parts }, append: true }
  }

  return {
    record: (event) => mark(marks, event),
    missingEvents(task) {
      const isLast = isEnded(task.status.state)
      if (!marks.hasTask) return [{ type: 'task', task, isLast }]
      const ref = { taskId: task.id, contextId: task.contextId, generation: task.generation }
      const events: StreamEvent[] = []
      for (const artifact of task.artifacts) {
        const news = newsOfArtifact(artifact)
        if (news) events.push({ type: 'artifact', ...news, ...ref })
      }
      // A task that has ended is told to have, also to those who knew: nothing else follows.
      if (isLast || fingerprint(task.status) !== marks.status) {
        events.push({ type: 'status', status: task.status, ...ref, isLast })
      }
      return events
    },
    changeIn(event) {
      switch (event.type) {
        case 'message':
        case 'task':
          return event
        case 'status':
          return event.isLast || fingerprint(event.status) !== marks.status ? event : undefined
        case 'artifact': {
          const news = event.append ? event : newsOfArtifact(event.artifact)
          return news && { ...event, ...news }
        }
      }
    },
  }
}

export interface ArtifactFingerprint {
  readonly parts: number
  readonly digest: number
}

/**
 * What a caller has been told of a task, as marks instead of the things themselves: a stream may be longer than memory.
 */
export interface TaskFingerprint {
  readonly artifacts: Map<string, ArtifactFingerprint>
  status?: string
  hasTask: boolean
}

export function createMarks(): TaskFingerprint {
  return { artifacts: new Map(), hasTask: false }
}

export function mark(marks: TaskFingerprint, event: StreamEvent): void {
  if (event.type === 'message') return
  marks.hasTask = true
  if (event.type === 'artifact') markArtifact(marks, event.artifact, event.append)
  else {
    const { status, artifacts } = event.type === 'task' ? event.task : { status: event.status, artifacts: [] }
    marks.status = fingerprint(status)
    for (const artifact of artifacts) markArtifact(marks, artifact)
  }
}

function markArtifact({ artifacts }: TaskFingerprint, artifact: Artifact, append?: boolean): void {
  const before = append ? artifacts.get(artifact.artifactId) : undefined
  artifacts.set(artifact.artifactId, markOf(contentOf(artifact), before))
}

function markOf(parts: readonly Part[], before: ArtifactFingerprint = { parts: 0, digest: 0 }): ArtifactFingerprint {
  let { digest } = before
  for (const part of parts) digest = hash(JSON.stringify(essenceOf(part)), digest)
  return { parts: before.parts + parts.length, digest }
}

/** FNV-1a, 32 bits: it finds differences between two tellings of one thing, not forgeries. */
function hash(text: string, seed: number): number {
  let digest = (seed ^ 0x811c9dc5) >>> 0
  for (let at = 0; at < text.length; at++) digest = Math.imul(digest ^ text.charCodeAt(at), 0x01000193)
  return digest >>> 0
}

/** What a part says, however its members are ordered; what its dialect keeps for itself may differ between tellings. */
function essenceOf(part: Part): unknown {
  const { text, url, raw, data, filename, mediaType, metadata } = { text: 0, url: 0, raw: 0, data: 0, ...part }
  return [text, url, raw, data, filename, mediaType, metadata]
}

/** An empty text closes an artifact on some wires, and is no content: not every agent keeps it. */
function contentOf({ parts }: Artifact): readonly Part[] {
  return parts.filter((part) => !('text' in part && part.text === ''))
}

function fingerprint({ state, timestamp, message }: TaskStatus): string {
  return JSON.stringify([state, timestamp, message?.parts.map(essenceOf)])
}
