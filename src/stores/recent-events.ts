import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { isEnded } from '../protocol/states.ts'
import { readLimit } from '../tasks/log.ts'
import { type EventBatch, takePage } from './event-rows.ts'

/**
 * Enough for who keeps up. More would be alive at most collections of young objects, whereupon V8 makes all events in
 * the old generation, from where they are collected late: memory grew by 130 MB under a stream of large chunks.
 */
const tailBytes = 64 * 1024

const allBytes = 8 * 1024 * 1024

/** So many tasks that have ended: those who follow one read its end at once, and nobody follows it later. */
const endedTasks = 64

/** What an event weighs beside its text. */
const eventBytes = 200

/**
 * The last events of the tasks that this process appended to most recently, so that those who follow them need neither
 * the database nor a parser. An event never changes, so one that is here is right, even if another process has just
 * let its task expire; that none is here says nothing, because another process may have appended since.
 */
export interface RecentEvents {
  keep(taskId: string, after: number, batch: EventBatch): void
  /** What is here beyond a generation, without a hole. */
  beyond(taskId: string, generation: number): readonly StoredEvent[]
  drop(taskId: string): void
}

export function createRecentEvents(): RecentEvents {
  /** In the order of the last append: the one to give up first is the first. */
  const tails = new Map<string, Tail>()
  const ended: string[] = []
  let bytes = 0

  function drop(taskId: string) {
    bytes -= tails.get(taskId)?.bytes ?? 0
    tails.delete(taskId)
  }

  return {
    drop,
    keep(taskId, after, batch) {
      const known = tails.get(taskId)
      const tail = known?.events.at(-1)?.stored.generation === after ? known : { events: [], bytes: 0 }
      drop(taskId)
      extend(tail, after, batch)
      if (tail.events.length === 0) return
      tails.set(taskId, tail)
      bytes += tail.bytes
      if (batch.events.some(endsTask) && ended.push(taskId) > endedTasks) drop(ended.shift() ?? '')
      for (const oldest of tails.keys()) {
        if (bytes <= allBytes) break
        drop(oldest)
      }
    },
    beyond(taskId, generation) {
      const events = tails.get(taskId)?.events ?? []
      const skip = generation + 1 - (events[0]?.stored.generation ?? 0)
      if (skip < 0 || skip >= events.length) return []
      return takePage(events.slice(skip), weight).map(({ stored }) => stored)
    },
  }
}

interface Tail {
  readonly events: Kept[]
  bytes: number
}

interface Kept {
  readonly stored: StoredEvent
  readonly bytes: number
}

function extend(tail: Tail, after: number, { events, rows }: EventBatch): void {
  const before = tail.bytes
  let at = 0
  for (const { count, text } of rows) {
    const bytes = text.length / count + eventBytes
    for (const end = at + count; at < end; at++) {
      tail.events.push({ stored: { generation: after + 1 + at, event: events[at] as TaskEvent }, bytes })
    }
    tail.bytes += bytes * count
  }
  if (tail.bytes <= tailBytes) return
  // Down to the half, so that the rest is not moved with every event; but who follows shall find what has just come.
  const rest = Math.max(tailBytes / 2, Math.min(tail.bytes - before, readLimit.bytes))
  let cut = 0
  for (; tail.bytes > rest; cut++) tail.bytes -= tail.events[cut]?.bytes ?? 0
  tail.events.splice(0, cut)
}

function endsTask(event: TaskEvent): boolean {
  return event.type === 'reply' || (event.type === 'status' && isEnded(event.status.state))
}

function weight({ bytes }: Kept): number {
  return bytes
}
