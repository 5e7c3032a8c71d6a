import type { TaskEvent } from '../../protocol/events.ts'

/** Events to be stored together, and the text as which each of them is stored. */
export interface EventBatch {
  readonly events: readonly TaskEvent[]
  readonly texts: readonly string[]
}

/** Done before a write is queued: an event that cannot be encoded must not take its group with it. */
export function encodeBatch(events: readonly TaskEvent[]): EventBatch {
  return { events, texts: events.map((event) => JSON.stringify(event)) }
}
