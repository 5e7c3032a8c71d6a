import type { StoredEvent } from '../protocol/events.ts'
import type { TaskLog } from './log.ts'

/**
 * Everything beyond `after`: what is stored, then what comes, without gap or repeat. It is pulled, so a slow reader
 * slows only itself; it ends when the signal aborts, or the task is erased. Who reads decides what was the last event.
 */
export async function* follow(...args: Parameters<typeof followPages>): AsyncGenerator<StoredEvent, void> {
  for await (const page of followPages(...args)) yield* page
}

/** Who waits for which task. It holds nothing for a task that nobody waits for. */
export interface Wakeups {
  /** Resolves at the next `wake` of this task, or when the signal aborts. */
  wait(taskId: string, signal: AbortSignal): Promise<void>
  wake(taskId: string): void
  wakeAll(): void
  /** How many are waiting now. */
  readonly size: number
  /** The tasks that somebody waits for. */
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

/** The same, with the events that are there together in one piece, for readers that are in a hurry. */
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
