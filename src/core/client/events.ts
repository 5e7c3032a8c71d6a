import type { StreamEvent } from '../protocol/events.ts'
import type { AuthRequired } from '../protocol/extensions/in-task-credentials.ts'
import type { Artifact, Task } from '../protocol/model.ts'
import { authRequiredOf } from '../protocol/reply.ts'
import { isEnded, isInterrupted } from '../protocol/states.ts'

/** A stream event, with the credentials that its task needs to continue. */
export type ClientEvent = StreamEvent & { readonly authRequired?: AuthRequired }

/** Whether the task has ended or waits for its caller. */
export function isSettled({ status: { state } }: Pick<Task, 'status'>): boolean {
  return isEnded(state) || isInterrupted(state)
}

/** Number of artifacts of a stream whose names are remembered. */
const maxNames = 1_000

/**
 * The events of a stream as a client emits them: with the credentials that the task needs, and with the name of the
 * artifact on each of its chunks. Many agents send the name only with the first one.
 */
export async function* toClientEvents(events: AsyncIterable<StreamEvent>): AsyncGenerator<ClientEvent> {
  const names = new Map<string, string>()
  const record = ({ artifactId, name }: Artifact) => {
    if (name !== undefined && names.size < maxNames) names.set(artifactId, name)
  }
  for await (const event of events) {
    if (event.type === 'task') event.task.artifacts.forEach(record)
    if (event.type !== 'artifact') yield withAuthRequired(event)
    else {
      record(event.artifact)
      const { name = names.get(event.artifact.artifactId) } = event.artifact
      yield name === event.artifact.name ? event : { ...event, artifact: { ...event.artifact, name } }
    }
  }
}

function withAuthRequired(event: StreamEvent): ClientEvent {
  if (event.type === 'message' || event.type === 'artifact') return event
  return { ...event, ...authRequiredOf(event.type === 'task' ? event.task.status : event.status) }
}
