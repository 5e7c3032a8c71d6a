import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { isEnded } from '../protocol/states.ts'
import { readLimit } from '../tasks/log.ts'
import type { EventBatch } from './event-rows.ts'

/**
 * Enough for readers that keep up. With more, the events would survive most minor collections, whereupon V8 allocates
 * all events in the old generation, where they are collected late: memory grew by 130 MB under a stream of large chunks.
 */
const bytesPerTask = 64 * 1024

const maxBytes = 8 * 1024 * 1024

/** Number of ended tasks to cache: their followers read the last events at once, and later readers are rare. */
const maxEndedTasks = 64

/** Estimated size of an event in addition to its text. */
const eventOverhead = 200

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

  function drop(taskId: string) {
    bytes -= tasks.get(taskId)?.bytes ?? 0
    tasks.delete(taskId)
  }

  return {
    drop,
    add(taskId, after, batch) {
      const cached = tasks.get(taskId)
      const task = cached?.events.at(-1)?.stored.generation === after ? cached : { events: [], bytes: 0 }
      drop(taskId)
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
  if (task.bytes <= bytesPerTask) return
  // Cut to half, so that the rest is not moved with every event, but keep the new events, which followers read next.
  const rest = Math.max(bytesPerTask / 2, Math.min(task.bytes - before, readLimit.bytes))
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
