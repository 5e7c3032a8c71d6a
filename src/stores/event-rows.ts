import type { TaskEvent } from '../protocol/events.ts'
import { isEnded } from '../protocol/states.ts'
import type { TaskHead } from '../tasks/log.ts'

/** Maximum content of a row, so that reading one event does not mean reading many. */
const rowLimit = { events: 64, characters: 64 * 1024 }

/** A row that holds several events, because a row costs more than the events in it. */
export interface EventRow {
  readonly count: number
  /** The events as a JSON array. */
  readonly text: string
  readonly hasStatus: boolean
}

/** Events that are stored together, and their rows. */
export interface EventBatch {
  readonly events: readonly TaskEvent[]
  readonly rows: readonly EventRow[]
}

/** Called before a write is queued: an event that cannot be encoded must not fail the other writes of its group. */
export function encodeBatch(events: readonly TaskEvent[]): EventBatch {
  return { events, rows: rowsOf(events) }
}

/** For stores in which each event has its own row. */
export function encodeRowPerEvent(events: readonly TaskEvent[]): EventBatch {
  const rows = events.map((event) => ({
    count: 1,
    text: JSON.stringify(event),
    hasStatus: event.type === 'status',
  }))
  return { events, rows }
}

export function decodeRow(text: string): readonly TaskEvent[] {
  return JSON.parse(text) as readonly TaskEvent[]
}

/** The generation of the last row that contains a status, if the batch is stored after generation `after`. */
export function statusRow({ rows }: EventBatch, after: number): number | null {
  let generation = after
  let statusGeneration: number | null = null
  for (const { count, hasStatus } of rows) {
    generation += count
    if (hasStatus) statusGeneration = generation
  }
  return statusGeneration
}

/** Whether a message follows the last status, as the column `status_answered` stores it. */
export function isAnswered(events: readonly TaskEvent[]): 0 | 1 {
  return lastIndex(events, 'message') > lastIndex(events, 'status') ? 1 : 0
}

/** Whether an event changes only the generation in the row of its task. Most events of a long task do. */
export function keepsTaskRow({ type }: TaskEvent): boolean {
  return type === 'artifact' || type === 'cancel' || type === 'journal'
}

export function isOver(phase: TaskHead['phase']): boolean {
  return phase === 'expired' || isEnded(phase)
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
