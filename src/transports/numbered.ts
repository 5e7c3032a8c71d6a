import type { StreamEvent } from '../protocol/events.ts'

/** An event with the generation that its `id:` tells; other agents may have ids of another kind, or none. */
export function numbered(event: StreamEvent, id: string | undefined): StreamEvent {
  if (id === undefined || !/^\d{1,15}$/.test(id)) return event
  const generation = Number(id)
  switch (event.type) {
    case 'message':
      return event
    case 'task':
      return { ...event, task: { ...event.task, generation } }
    case 'status':
    case 'artifact':
      return { ...event, generation }
  }
}
