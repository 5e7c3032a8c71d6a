import { systemClock, type Timers } from '../base/clock.ts'

/** To JSON and SSE these are like any other character, but many readers split lines at them: in Python, most. */
const separators = /[\u0085\u2028\u2029]/

const everySeparator = /[\u0085\u2028\u2029]/g

/** `no-transform` and `x-accel-buffering` keep proxies from holding events back. */
export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const satisfies Record<string, string>

export interface ServerSentEvent {
  readonly id?: number | string
  /** The id of the event before it, for readers who count. It is a field of our own, which others ignore. */
  readonly follows?: number | undefined
  readonly event?: string
  /** One line, such as `oneLine` makes of JSON. */
  readonly data: string
}

export function eventText({ id, event, data, follows }: ServerSentEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`
  if (id === undefined) return `${name}data: ${data}\n\n`
  const before = follows === undefined ? '' : `follows: ${follows}\n`
  return `${name}${before}id: ${id}\ndata: ${data}\n\n`
}

/** JSON that also those take for one line who know more ends of lines than it does. */
export function oneLine(json: string): string {
  return separators.test(json) ? json.replace(everySeparator, escaped) : json
}

export interface EventStreamOptions {
  /** Milliseconds of silence after which a comment is sent, so that proxies keep the connection open. */
  readonly heartbeat: number
  /** Ends the stream and releases the source. */
  readonly signal: AbortSignal
  /** Characters after which a chunk is not joined further. */
  readonly limit?: number
  readonly timers?: Timers
}

/** What to write for a source of event texts: one chunk of what is ready together, heartbeats where it is silent. */
export function eventStream(
  source: AsyncIterable<string>,
  { heartbeat, signal, limit = 64 * 1024, timers = systemClock }: EventStreamOptions,
): AsyncIterableIterator<string> {
  const iterator = source[Symbol.asyncIterator]()
  let over = false
  let wake = (): void => {}

  const end = (): void => {
    if (over) return
    over = true
    signal.removeEventListener('abort', end)
    wake()
    // Not awaited: a generator that waits for its next event takes its `return` only after that.
    iterator.return?.().catch(() => {})
  }
  signal.addEventListener('abort', end)
  if (signal.aborted) end()

  async function* chunks(): AsyncGenerator<string> {
    const joined = coalesce(iterator, limit)
    try {
      while (!over) {
        const next = joined.next()
        let waiting = true
        const arrive = (): void => {
          waiting = false
          wake()
        }
        next.then(arrive, arrive)
        while (waiting && !over) {
          const timer = timers.setTimeout(() => wake(), heartbeat)
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          timers.clearTimeout(timer)
          if (waiting && !over) yield ': keep-alive\n\n'
        }
        if (over) return
        const { done, value } = await next
        if (done) return
        yield value
      }
    } finally {
      end()
    }
  }

  // A bare generator would do nothing on a `return` before its start, and wait for the next event on one after it.
  const stream = chunks()
  return {
    next: () => stream.next(),
    return() {
      end()
      return stream.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

export interface WithFirstOptions<T> {
  /** Milliseconds after which there is a stream although nothing has come. */
  readonly patience: number
  /** What a failure before the first item is told as, once there is a stream. Nothing follows it. */
  readonly late: (error: unknown) => T
  readonly timers?: Timers
}

/**
 * Waits for the first item, so that a failure before it can still be answered as an error and not as a broken stream.
 * What comes back starts with that item.
 */
export async function awaitFirst<T>(
  source: AsyncIterable<T>,
  { patience, late, timers = systemClock }: WithFirstOptions<T>,
): Promise<AsyncIterable<T>> {
  const iterator = source[Symbol.asyncIterator]()
  const coming = iterator.next()
  let first: Promise<IteratorResult<T>> | undefined = (await isSettled(coming, patience, timers))
    ? Promise.resolve(await coming)
    : coming.catch((error): IteratorResult<T> => ({ done: false, value: late(error) }))

  // Not a generator: `return` on one that was never started would not reach the source.
  const rest: AsyncIterableIterator<T> = {
    next() {
      const result = first ?? iterator.next()
      first = undefined
      return result
    },
    async return(value) {
      first = undefined
      return (await iterator.return?.(value)) ?? { done: true, value }
    },
    [Symbol.asyncIterator]: () => rest,
  }
  return rest
}

/**
 * Joins what is ready together into one chunk: after an item it goes on pulling until the turn of the event loop is
 * over or the chunk is `limit` characters long. Beyond the chunk at most one item is pulled ahead.
 */
export async function* coalesce(source: AsyncIterator<string>, limit: number): AsyncGenerator<string> {
  /** Pulled, but not part of a chunk yet. Its end or failure is met when the next chunk begins. */
  let pending: Promise<IteratorResult<string>> | undefined
  let chunk = ''
  let open = false

  const pullMore = (): void => {
    pending = source.next()
    pending.then(append, ignore)
  }
  const append = ({ done, value }: IteratorResult<string>): void => {
    if (!open || done) return
    chunk += value
    pending = undefined
    if (chunk.length < limit) pullMore()
  }

  for (;;) {
    const first: IteratorResult<string> = await (pending ?? source.next())
    pending = undefined
    if (first.done) return
    chunk = first.value
    open = true
    if (chunk.length < limit) pullMore()
    // Also when the chunk is full: a source that is always ready must not keep everybody else from their turn.
    await endOfTurn()
    open = false
    yield chunk
  }
}

function ignore(): void {}

function endOfTurn(): Promise<void> {
  return new Promise(defer)
}

const defer: (run: () => void) => unknown = globalThis.setImmediate ?? ((run) => setTimeout(run, 0))

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Whether it is so within that many milliseconds. */
async function isSettled(promise: Promise<unknown>, milliseconds: number, timers: Timers): Promise<boolean> {
  const { promise: settled, resolve } = Promise.withResolvers<boolean>()
  const timer = timers.setTimeout(() => resolve(false), milliseconds)
  const settle = () => resolve(true)
  promise.then(settle, settle)
  const result = await settled
  timers.clearTimeout(timer)
  return result
}
