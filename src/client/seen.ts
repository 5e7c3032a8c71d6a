import type { ArtifactEvent, StreamEvent } from '../protocol/events.ts'
import type { Artifact, Task } from '../protocol/model.ts'
import { isEnded } from '../protocol/states.ts'
import { contentOf, createMarks, fingerprint, mark, markOf } from './marks.ts'

/** Tells what of a task its caller has not seen. */
export interface Seen {
  record(event: StreamEvent): void
  /** What a caller who has been told this much must be told to know all of the task. */
  missingOf(task: Task): readonly StreamEvent[]
  /** The event without what is known of it; undefined if all is. */
  newsOf(event: StreamEvent): StreamEvent | undefined
}

export function createSeen(marks = createMarks()): Seen {
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
    missingOf(task) {
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
    newsOf(event) {
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
