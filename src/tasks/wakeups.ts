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
