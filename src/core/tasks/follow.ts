import type { StoredEvent } from '../protocol/events.ts'
import type { Mutable } from './fold.ts'
import type { TaskLog } from './log.ts'

type FollowedLog = Pick<TaskLog, 'head' | 'read' | 'wait'>

/** Reads the events of a task in pages: first the stored ones, then new ones as they arrive, without gap or repeat. */
export interface PageReader {
  /**
   * Resolves with the next events, and with undefined when the signal has aborted or the events of the task were removed.
   * The reader decides which event is the last one.
   */
  next(): Promise<readonly StoredEvent[] | undefined>
}

/** Reads the events after `after`. A slow reader slows down only itself. */
export function createPageReader(log: FollowedLog, taskId: string, after: number, signal: AbortSignal): PageReader {
  let seen = after
  let hasRead = false
  return {
    async next() {
      while (!signal.aborted) {
        const isWoken = hasRead
        if (isWoken) await log.wait(taskId, seen, signal)
        if (signal.aborted) break
        const page = await log.read(taskId, seen)
        hasRead = true
        const last = page.at(-1)
        if (last) {
          seen = last.generation
          return page
        }
        if (isWoken && (await hasNoEvents(log, taskId))) break
      }
      return undefined
    },
  }
}

/** The same as a stream of pages. */
export async function* followPages(
  ...args: Parameters<typeof createPageReader>
): AsyncGenerator<readonly StoredEvent[], void> {
  const reader = createPageReader(...args)
  for (let page = await reader.next(); page; page = await reader.next()) yield page
}

/**
 * Whether the task is erased or only its tombstone is left. A reader must not wait for it: a log that is ahead of its
 * reader lets it read at once, again and again.
 */
export async function hasNoEvents(log: Pick<TaskLog, 'head'>, taskId: string): Promise<boolean> {
  const head = await log.head(taskId)
  return !head || head.phase === 'expired'
}

/** Like `followPages`, event by event. */
export async function* follow(...args: Parameters<typeof followPages>): AsyncGenerator<StoredEvent, void> {
  for await (const page of followPages(...args)) yield* page
}

/** The readers that wait for new events, by task. Holds nothing for a task without readers. */
export interface Wakeups {
  /** Resolves at the next `wake` of the task, or when the signal aborts. */
  wait(taskId: string, signal: AbortSignal): Promise<void>
  wake(taskId: string): void
  wakeAll(): void
  /** The number of waiting readers. A plain value, so that a log without readers wakes none. */
  readonly size: number
  /** The ids of the tasks with waiting readers. */
  awaited(): readonly string[]
}

/** Creates the list of waiting readers of one process. */
export function createWakeups(): Wakeups {
  const waiting = new Map<string, Set<() => void>>()

  function wake(taskId: string) {
    const wakers = waiting.get(taskId)
    if (!wakers) return
    for (const waker of [...wakers]) waker()
  }

  const wakeups: Mutable<Wakeups> = {
    size: 0,
    wait(taskId, signal) {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wakers = waiting.get(taskId) ?? new Set()
        waiting.set(taskId, wakers)
        const done = () => {
          if (!wakers.delete(done)) return
          wakeups.size--
          if (wakers.size === 0 && waiting.get(taskId) === wakers) waiting.delete(taskId)
          signal.removeEventListener('abort', done)
          resolve()
        }
        wakers.add(done)
        wakeups.size++
        signal.addEventListener('abort', done)
      })
    },
    awaited: () => [...waiting.keys()],
    wake,
    wakeAll() {
      for (const taskId of [...waiting.keys()]) wake(taskId)
    },
  }
  return wakeups
}
