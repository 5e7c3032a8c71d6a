import type { StoredEvent } from '../../protocol/events.ts'
import type { EventBatch } from './event-batch.ts'
import { takePage } from './page.ts'

/**
 * The last events of the tasks that this process appended to most recently, so that those who follow them need neither
 * the database nor a parser. An event never changes, so one that is here is right, even if another process has just
 * let its task expire; that none is here says nothing, because another process may have appended since.
 */
export interface Tails {
  keep(taskId: string, after: number, batch: EventBatch): void
  /** What is here beyond a generation, without a hole. */
  beyond(taskId: string, generation: number): readonly StoredEvent[]
  drop(taskId: string): void
}

const tailBytes = 1024 * 1024
const allBytes = 8 * tailBytes
/** What an event weighs beside its text. */
const eventBytes = 200

export function createTails(): Tails {
  /** In the order of the last append: the one to give up first is the first. */
  const tails = new Map<string, Tail>()
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

function weight({ bytes }: Kept): number {
  return bytes
}

function extend(tail: Tail, after: number, { events, texts }: EventBatch): void {
  events.forEach((event, index) => {
    const bytes = (texts[index]?.length ?? 0) + eventBytes
    tail.events.push({ stored: { generation: after + 1 + index, event }, bytes })
    tail.bytes += bytes
  })
  if (tail.bytes <= tailBytes) return
  // Down to the half, so that the rest is not moved with every event.
  let cut = 0
  for (; tail.bytes > tailBytes / 2; cut++) tail.bytes -= tail.events[cut]?.bytes ?? 0
  tail.events.splice(0, cut)
}
