/** Values that wait to be stored. Who pushes more than that faster than they are stored fails. */
const maxWaiting = 10_000

/** What every library of observables has in common: RxJS, and whatever else pushes values to an observer. */
export interface Subscribable<T> {
  subscribe(observer: { next(value: T): void; error(error: unknown): void; complete(): void }): { unsubscribe(): void }
}

export function isSubscribable<T>(value: unknown): value is Subscribable<T> {
  return typeof value === 'object' && value !== null && 'subscribe' in value && typeof value.subscribe === 'function'
}

/** Whether the values of an observable that were pushed so far are worked through. */
export interface Backlog {
  isBusy: boolean
  /** Those who wait for it. */
  readonly waiting: (() => void)[]
  readonly settled: () => Promise<void>
}

/** The values of an observable, to be pulled. Whoever stops pulling, or gives the signal, unsubscribes. */
export async function* iterate<T>(
  source: Subscribable<T>,
  signal: AbortSignal,
  flow: Backlog = createBacklog(),
): AsyncGenerator<T, undefined> {
  let waiting: T[] = []
  let end: { readonly error?: unknown } | undefined
  let wake = () => {}
  const rest = () => {
    flow.isBusy = false
    for (const tell of flow.waiting.splice(0)) tell()
  }
  const leave = () => {
    end ??= {}
    wake()
  }
  signal.addEventListener('abort', leave, { once: true })
  const subscription = source.subscribe({
    next(value) {
      if (end) return
      flow.isBusy = true
      if (waiting.length < maxWaiting) waiting.push(value)
      else end = { error: new Error(`An observable pushed ${maxWaiting} events faster than they could be stored.`) }
      wake()
    },
    error(error) {
      end ??= { error }
      wake()
    },
    complete: leave,
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
        rest()
      })
    }
  } finally {
    signal.removeEventListener('abort', leave)
    subscription.unsubscribe()
    rest()
  }
}

export function createBacklog(): Backlog {
  const waiting: (() => void)[] = []
  const flow: Backlog = {
    isBusy: false,
    waiting,
    settled: () => (flow.isBusy ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve()),
  }
  return flow
}
