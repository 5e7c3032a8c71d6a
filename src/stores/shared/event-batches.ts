import type { StoredEvent, TaskEvent } from '../../core/protocol/events.ts'
import { isEnded } from '../../core/protocol/states.ts'
import { readLimit, type TaskHead } from '../../core/tasks/log.ts'
import { skillOfTask } from '../../core/tasks/operator-log.ts'

/** Maximum content of a row, so that reading one event does not mean reading many. */
const rowLimit = { events: 64, characters: 64 * 1024 }

/**
 * Enough for readers that keep up. With more, the events would survive most minor collections, whereupon V8 allocates
 * all events in the old generation, where they are collected late: memory grew by 130 MB under a stream of large chunks.
 */
const bytesPerTask = 64 * 1024

/**
 * Short events live shorter, so more of them can be cached: two windows of a writer. A reader of a fast stream is often a
 * batch behind, and would read and parse every event again.
 */
const short = { bytesPerEvent: 1_024, bytesPerTask: 256 * 1024 }

const maxBytes = 8 * 1024 * 1024

/** Number of ended tasks to cache: their followers read the last events at once, and later readers are rare. */
const maxEndedTasks = 64

/** Estimated size of an event in addition to its text. */
const eventOverhead = 200

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

/** The skill that the first message of a new task names, for the column `skill`. Most messages have no metadata. */
export function firstSkill([first]: readonly TaskEvent[]): string | undefined {
  if (first?.type !== 'message' || (!first.message.metadata && !first.metadata)) return undefined
  return skillOfTask(first)
}

/** Whether an event changes only the generation in the row of its task. Most events of a long task do. */
export function keepsTaskRow({ type }: TaskEvent): boolean {
  return type === 'artifact' || type === 'cancel' || type === 'journal'
}

export function isOver(phase: TaskHead['phase']): boolean {
  return phase === 'expired' || isEnded(phase)
}

/**
 * Caches the last events of the tasks that this process appended to most recently, so that following them needs neither
 * the database nor a parser. Events are immutable, so a cached one is correct even if another process has just expired
 * its task. A miss proves nothing, because another process may have appended since.
 */
export interface RecentEvents {
  add(taskId: string, after: number, batch: EventBatch): void
  /** The cached events after a generation, without a gap. */
  readAfter(taskId: string, generation: number): readonly StoredEvent[]
  drop(taskId: string): void
}

export function createRecentEvents(): RecentEvents {
  /** In the order of the last append: the first is dropped first. */
  const tasks = new Map<string, CachedTask>()
  const ended: string[] = []
  let bytes = 0

  function take(taskId: string): CachedTask | undefined {
    const task = tasks.get(taskId)
    bytes -= task?.bytes ?? 0
    tasks.delete(taskId)
    return task
  }

  /** Empties what is dropped: replaced tables of the map may still refer to it, as `RunMap` of the runtime explains. */
  function drop(taskId: string): void {
    const task = take(taskId)
    if (task) task.events.length = 0
  }

  return {
    drop,
    add(taskId, after, batch) {
      const cached = take(taskId)
      const task = cached?.events.at(-1)?.stored.generation === after ? cached : { events: [], bytes: 0 }
      extend(task, after, batch)
      if (task.events.length === 0) return
      tasks.set(taskId, task)
      bytes += task.bytes
      if (batch.events.some(endsTask) && ended.push(taskId) > maxEndedTasks) drop(ended.shift() ?? '')
      for (const oldest of tasks.keys()) {
        if (bytes <= maxBytes) break
        drop(oldest)
      }
    },
    readAfter(taskId, generation) {
      const events = tasks.get(taskId)?.events ?? []
      const skip = generation + 1 - (events[0]?.stored.generation ?? 0)
      if (skip < 0 || skip >= events.length) return []
      return takePage(events, skip)
    },
  }
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

interface CachedTask {
  readonly events: CachedEvent[]
  bytes: number
}

interface CachedEvent {
  readonly stored: StoredEvent
  readonly bytes: number
}

function extend(task: CachedTask, after: number, { events, rows }: EventBatch): void {
  const before = task.bytes
  let at = 0
  for (const { count, text } of rows) {
    const bytes = text.length / count + eventOverhead
    for (const end = at + count; at < end; at++) {
      task.events.push({ stored: { generation: after + 1 + at, event: events[at] as TaskEvent }, bytes })
    }
    task.bytes += bytes * count
  }
  const isShort = task.bytes < short.bytesPerEvent * task.events.length
  const limit = isShort ? short.bytesPerTask : bytesPerTask
  if (task.bytes <= limit) return
  // Cut to half, so that the rest is not moved with every event, but keep the new events, which followers read next.
  const rest = Math.max(limit / 2, Math.min(task.bytes - before, readLimit.bytes))
  let cut = 0
  for (; task.bytes > rest; cut++) task.bytes -= task.events[cut]?.bytes ?? 0
  task.events.splice(0, cut)
}

function endsTask(event: TaskEvent): boolean {
  return event.type === 'reply' || (event.type === 'status' && isEnded(event.status.state))
}

/** As many events as one `read` of the log returns, and at least one. */
function takePage(events: readonly CachedEvent[], from: number): readonly StoredEvent[] {
  const page: StoredEvent[] = []
  let size = 0
  for (let at = from; at < events.length; at++) {
    const { stored, bytes } = events[at] as CachedEvent
    page.push(stored)
    size += bytes
    if (page.length === readLimit.events || size >= readLimit.bytes) break
  }
  return page
}
