import type { TaskEvent } from '../protocol/events.ts'

/** Events to be stored together, and the rows as which they are stored. */
export interface EventBatch {
  readonly events: readonly TaskEvent[]
  readonly rows: readonly EventRow[]
}

/** Events that lie in one row, because a row costs more than the events in it. */
export interface EventRow {
  readonly count: number
  /** A JSON array of them. */
  readonly text: string
  readonly hasStatus: boolean
}

/** What a row holds at the most, so that reading one event does not mean reading many. */
const rowLimit = { events: 64, characters: 64 * 1024 }

/** Done before a write is queued: an event that cannot be encoded must not take its group with it. */
export function encodeBatch(events: readonly TaskEvent[]): EventBatch {
  return { events, rows: rowsOf(events) }
}

function rowsOf(events: readonly TaskEvent[]): readonly EventRow[] {
  const text = events.length > rowLimit.events ? undefined : JSON.stringify(events)
  if (text !== undefined && (text.length <= rowLimit.characters || events.length === 1)) {
    return [{ count: events.length, text, hasStatus: events.some(({ type }) => type === 'status') }]
  }
  const middle = events.length >> 1
  return [...rowsOf(events.slice(0, middle)), ...rowsOf(events.slice(middle))]
}

export function decodeRow(text: string): readonly TaskEvent[] {
  return JSON.parse(text) as readonly TaskEvent[]
}

/** The generation of the last row with a status in it, if the batch is stored beyond `after`. */
export function statusRow({ rows }: EventBatch, after: number): number | null {
  let generation = after
  let found: number | null = null
  for (const { count, hasStatus } of rows) {
    generation += count
    if (hasStatus) found = generation
  }
  return found
}

/** For stores in which each event has a row of its own. */
export function encodeSingly(events: readonly TaskEvent[]): EventBatch {
  const rows = events.map((event) => ({
    count: 1,
    text: JSON.stringify(event),
    hasStatus: event.type === 'status',
  }))
  return { events, rows }
}
