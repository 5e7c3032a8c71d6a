import type { StreamEvent } from '../protocol/events.ts'

/**
 * An event with the generation that its `id:` tells. Other agents have ids of another kind, or none: the official SDKs
 * have the time, which is longer than any count of events.
 */
export function numbered(event: StreamEvent, id: string | undefined, before?: string): StreamEvent {
  if (id === undefined || !/^\d{1,9}$/.test(id)) return event
  const generation = Number(id)
  const follows = before === undefined ? undefined : Number(before)
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

/** A message is all there is: nothing can be continued after it. */
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
