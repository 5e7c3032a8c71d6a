import type { TaskEvent } from '../protocol/events.ts'
import { isEnded } from '../protocol/states.ts'
import { readLimit, type TaskHead } from '../tasks/log.ts'

/** What a row holds at the most, so that reading one event does not mean reading many. */
const rowLimit = { events: 64, characters: 64 * 1024 }

/** Events that lie in one row, because a row costs more than the events in it. */
export interface EventRow {
  readonly count: number
  /** A JSON array of them. */
  readonly text: string
  readonly hasStatus: boolean
}

/** Events to be stored together, and the rows as which they are stored. */
export interface EventBatch {
  readonly events: readonly TaskEvent[]
  readonly rows: readonly EventRow[]
}

/** Done before a write is queued: an event that cannot be encoded must not take its group with it. */
export function encodeBatch(events: readonly TaskEvent[]): EventBatch {
  return { events, rows: rowsOf(events) }
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

/** What events change in the row of their task. */

/** Whether a message came after the last status, be that among these events or before them. */
export function isAnswered(events: readonly TaskEvent[]): 0 | 1 {
  return lastIndex(events, 'message') > lastIndex(events, 'status') ? 1 : 0
}

/** Most events of a long task change nothing but its generation. */
export function keepsTaskRow({ type }: TaskEvent): boolean {
  return type === 'artifact' || type === 'cancel' || type === 'journal'
}

export function isOver(phase: TaskHead['phase']): boolean {
  return phase === 'expired' || isEnded(phase)
}

/** As many as one `read` may answer, and one at least. */
export function takePage<T>(items: Iterable<T>, bytesOf: (item: T) => number): readonly T[] {
  const page: T[] = []
  let bytes = 0
  for (const item of items) {
    page.push(item)
    bytes += bytesOf(item)
    if (page.length === readLimit.events || bytes >= readLimit.bytes) break
  }
  return page
}

function rowsOf(events: readonly TaskEvent[]): readonly EventRow[] {
  const text = events.length > rowLimit.events ? undefined : JSON.stringify(events)
  if (text !== undefined && (text.length <= rowLimit.characters || events.length === 1)) {
    return [{ count: events.length, text, hasStatus: events.some(({ type }) => type === 'status') }]
  }
  const middle = events.length >> 1
  return [...rowsOf(events.slice(0, middle)), ...rowsOf(events.slice(middle))]
}

function lastIndex(events: readonly TaskEvent[], type: TaskEvent['type']): number {
  return events.findLastIndex((event) => event.type === type)
}
