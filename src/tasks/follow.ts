import type { StoredEvent } from '../protocol/events.ts'
import type { TaskLog } from './log.ts'

/**
 * Reads the events after `after` in pages: first the stored ones, then new ones as they arrive, without gap or repeat. A
 * slow reader slows down only itself. Ends when the signal aborts or the task is erased; the reader decides which event
 * is the last one.
 */
export async function* followPages(
  log: Pick<TaskLog, 'head' | 'read' | 'wait'>,
  taskId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredEvent[], void> {
  let seen = after
  let isWoken = false
  while (!signal.aborted) {
    const page = await log.read(taskId, seen)
    const last = page.at(-1)
    if (last) {
      yield page
      seen = last.generation
    } else if (isWoken && !(await log.head(taskId))) return
    await log.wait(taskId, seen, signal)
    isWoken = true
  }
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
  /** The number of waiting readers. */
  readonly size: number
  /** The ids of the tasks with waiting readers. */
  awaited(): readonly string[]
}

export function createWakeups(): Wakeups {
  const waiting = new Map<string, Set<() => void>>()
  let size = 0

  function wake(taskId: string) {
    const wakers = waiting.get(taskId)
    if (!wakers) return
    for (const waker of [...wakers]) waker()
  }

  return {
    get size() {
      return size
    },
    wait(taskId, signal) {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wakers = waiting.get(taskId) ?? new Set()
        waiting.set(taskId, wakers)
        const done = () => {
          if (!wakers.delete(done)) return
          size--
          if (wakers.size === 0 && waiting.get(taskId) === wakers) waiting.delete(taskId)
          signal.removeEventListener('abort', done)
          resolve()
        }
        wakers.add(done)
        size++
        signal.addEventListener('abort', done)
      })
    },
    awaited: () => [...waiting.keys()],
    wake,
    wakeAll() {
      for (const taskId of [...waiting.keys()]) wake(taskId)
    },
  }
}
