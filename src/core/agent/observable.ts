/** How many values of an observable may wait to be stored. */
const maxWaiting = 10_000

/** What all observable libraries have in common, such as RxJS: a source that pushes values to an observer. */
export interface Subscribable<T> {
  subscribe(observer: { next(value: T): void; error(error: unknown): void; complete(): void }): { unsubscribe(): void }
}

/** The values that an observable has pushed and the reader has not handled yet. */
export interface Backlog {
  isBusy: boolean
  readonly waiting: (() => void)[]
  /** Resolves when all values pushed so far are handled. */
  readonly settled: () => Promise<void>
}

export function createBacklog(): Backlog {
  const waiting: (() => void)[] = []
  const backlog: Backlog = {
    isBusy: false,
    waiting,
    settled: () => (backlog.isBusy ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()),
  }
  return backlog
}

/** Reads an observable as an async generator. Unsubscribes when the reader stops or the signal aborts. */
export async function* iterate<T>(
  source: Subscribable<T>,
  signal: AbortSignal,
  backlog: Backlog = createBacklog(),
): AsyncGenerator<T, undefined> {
  let waiting: T[] = []
  let end: { readonly error?: unknown } | undefined
  let wake = () => {}
  const settle = () => {
    backlog.isBusy = false
    for (const resolve of backlog.waiting.splice(0)) resolve()
  }
  const stop = () => {
    end ??= {}
    wake()
  }
  signal.addEventListener('abort', stop, { once: true })
  const subscription = source.subscribe({
    next(value) {
      if (end) return
      backlog.isBusy = true
      if (waiting.length < maxWaiting) waiting.push(value)
      else end = { error: new Error(`An observable pushed ${maxWaiting} events faster than they could be stored.`) }
      wake()
    },
    error(error) {
      end ??= { error }
      wake()
    },
    complete: stop,
  })
  try {
    for (;;) {
      const ready = waiting
      waiting = []
      yield* ready
      if (waiting.length > 0) continue
      if (end && 'error' in end) throw end.error
      if (end) return undefined
      await new Promise<void>((resolve) => {
        wake = resolve
        settle()
      })
    }
  } finally {
    signal.removeEventListener('abort', stop)
    subscription.unsubscribe()
    settle()
  }
}
