/** What happened to an entry. */
export interface RegistryChange {
  /** Counts within this process. */
  readonly number: number
  readonly type: 'registered' | 'status' | 'removed'
  readonly id: string
}

export interface Changes {
  tell(type: RegistryChange['type'], id: string): void
  /** From now on. Ends with the signal, and for a reader that is too slow, who must look at everything anew. */
  follow(signal: AbortSignal): AsyncGenerator<RegistryChange>
}

/** Tells every reader what changed, and keeps no more than so much for one who does not read. */
export function createChanges({ backlog = 1_000 } = {}): Changes {
  const readers = new Set<(change: RegistryChange) => void>()
  let number = 0

  async function* read(queue: RegistryChange[], wait: () => Promise<void>, signal: AbortSignal, leave: () => void) {
    try {
      while (!signal.aborted) {
        if (queue.length > backlog) return
        const next = queue.shift()
        if (next) yield next
        else await wait()
      }
    } finally {
      leave()
    }
  }

  return {
    tell(type, id) {
      number++
      for (const hear of readers) hear({ number, type, id })
    },
    follow(signal) {
      const queue: RegistryChange[] = []
      let wake = () => {}
      const hear = (change: RegistryChange) => {
        if (queue.length <= backlog) queue.push(change)
        wake()
      }
      const end = () => {
        leave()
        wake()
      }
      const leave = () => {
        readers.delete(hear)
        signal.removeEventListener('abort', end)
      }
      readers.add(hear)
      signal.addEventListener('abort', end)
      if (signal.aborted) leave()
      const wait = () =>
        new Promise<void>((resolve) => {
          wake = resolve
        })
      return read(queue, wait, signal, leave)
    },
  }
}
