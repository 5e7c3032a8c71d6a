import type { StreamEvent } from '../protocol/events.ts'

/**
 * Adds the generation that the `id:` of a server-sent event carries. Other agents have no ids, or ids of another kind:
 * the official SDKs use the time, which has more digits than any count of events.
 */
export function withGeneration(event: StreamEvent, id: string | undefined, previousId?: string): StreamEvent {
  if (id === undefined || !/^\d{1,9}$/.test(id)) return event
  const generation = Number(id)
  const follows = previousId === undefined ? undefined : Number(previousId)
  switch (event.type) {
    case 'message':
      return event
    case 'task':
      return { ...event, task: { ...event.task, generation }, follows }
    case 'status':
    case 'artifact':
      return { ...event, generation, follows }
  }
}

/** Undefined for a message: it is the only event of its stream, so there is nothing to resume. */
export function generationOf(event: StreamEvent): number | undefined {
  switch (event.type) {
    case 'message':
      return undefined
    case 'task':
      return event.task.generation
    case 'status':
    case 'artifact':
      return event.generation
  }
}
