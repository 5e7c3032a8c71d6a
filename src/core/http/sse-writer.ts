import { systemClock, type Timers } from '../base/clock.ts'

/** `no-transform` and `x-accel-buffering` keep proxies from holding events back. */
export const sseHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
} as const satisfies Record<string, string>

export interface ServerSentEvent {
  readonly id?: number | string
  /** The id of the previous event, for clients that detect gaps. */
  readonly follows?: number | undefined
  readonly event?: string
  /** One line, as `oneLine` makes of JSON. */
  readonly data: string
}

export function eventText({ id, event, data, follows }: ServerSentEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`
  if (id === undefined) return `${name}data: ${data}\n\n`
  const previous = follows === undefined ? '' : `: ${followsLabel}${follows}\n`
  return `${name}${previous}id: ${id}\ndata: ${data}\n\n`
}

/** `follows` is written as a comment: parsers may drop a field they do not know, but they report comments. */
export const followsLabel = 'follows '

/** JSON without the characters that JSON and SSE do not treat as line breaks, but many readers do: most in Python. */
export function oneLine(json: string): string {
  return separator.test(json) ? json.replace(separators, escapeCharacter) : json
}

export interface EventStreamOptions {
  /** Milliseconds of silence after which a comment is sent, so that proxies keep the connection open. */
  readonly heartbeat: number
  /** Ends the stream and releases the source. */
  readonly signal: AbortSignal
  /** Characters after which a chunk is complete. Defaults to 64 Ki. */
  readonly limit?: number
  readonly timers?: Timers
}

/**
 * Joins event texts that are ready together into one chunk, and sends heartbeats while the source is silent. After the
 * first text of a chunk it keeps pulling until the turn of the event loop ends or the chunk is `limit` characters long. It
 * pulls at most one text ahead of the chunk.
 */
export function eventStream(
  source: AsyncIterable<string>,
  { heartbeat, signal, limit = 64 * 1024, timers = systemClock }: EventStreamOptions,
): AsyncIterableIterator<string> {
  const iterator = source[Symbol.asyncIterator]()
  /** The texts that were pulled and not sent. */
  let chunk = ''
  /** `one`: a text is being pulled. `many`: and others after it. */
  let pulling: 'none' | 'one' | 'many' = 'none'
  let sourceEnd: { readonly error?: unknown } | undefined
  let isOver = false
  let wake = ignore

  const pull = (more: 'one' | 'many'): void => {
    const isPulling = pulling !== 'none'
    if (sourceEnd || isOver || (!isPulling && chunk.length >= limit)) return
    pulling = more
    if (!isPulling) iterator.next().then(take, fail)
  }
  const take = ({ done, value }: IteratorResult<string>): void => {
    const more = pulling
    pulling = 'none'
    if (done) sourceEnd = {}
    else {
      chunk += value
      if (more === 'many') pull(more)
    }
    wake()
  }
  const fail = (error: unknown): void => {
    pulling = 'none'
    sourceEnd = { error }
    wake()
  }
  const end = (): void => {
    if (isOver) return
    isOver = true
    signal.removeEventListener('abort', end)
    wake()
    // Not awaited: a generator that waits for its next event handles `return` only after that event.
    iterator.return?.().catch(ignore)
  }
  signal.addEventListener('abort', end)
  if (signal.aborted) end()
  const isWaiting = (): boolean => chunk === '' && !sourceEnd && !isOver

  async function* chunks(): AsyncGenerator<string> {
    try {
      while (!isOver) {
        pull('one')
        while (isWaiting()) {
          const timer = timers.setTimeout(() => wake(), heartbeat)
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          wake = ignore
          timers.clearTimeout(timer)
          if (isWaiting()) yield ': keep-alive\n\n'
        }
        if (chunk === '' && sourceEnd && 'error' in sourceEnd) throw sourceEnd.error
        if (chunk === '' || isOver) return
        pull('many')
        // Also when the chunk is full: a source that is always ready must not starve other work.
        await endOfTurn()
        if (pulling === 'many') pulling = 'one'
        if (isOver) return
        const text = chunk
        chunk = ''
        yield text
      }
    } finally {
      end()
    }
  }

  // A bare generator would ignore a `return` before its start, and delay a later one until the next event.
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

export interface AwaitFirstOptions<T> {
  /** Milliseconds after which the stream starts even without an item. */
  readonly timeout: number
  /** The item that reports a failure before the first item, once the stream has started. Nothing follows it. */
  readonly failureItem: (error: unknown) => T
  readonly timers?: Timers
}

/**
 * Waits for the first item, so that a failure before it becomes an error response instead of a broken stream. The
 * returned iterable starts with that item.
 */
export async function awaitFirst<T>(
  source: AsyncIterable<T>,
  { timeout, failureItem, timers = systemClock }: AwaitFirstOptions<T>,
): Promise<AsyncIterable<T>> {
  const iterator = source[Symbol.asyncIterator]()
  const pending = iterator.next()
  let first: Promise<IteratorResult<T>> | undefined = (await settlesWithin(pending, timeout, timers))
    ? Promise.resolve(await pending)
    : pending.catch((error): IteratorResult<T> => ({ done: false, value: failureItem(error) }))

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

/** Unicode line separators beyond `\n` and `\r`. */
const separator = /[\u0085\u2028\u2029]/

const separators = /[\u0085\u2028\u2029]/g

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function ignore(): void {}

function endOfTurn(): Promise<void> {
  return new Promise(defer)
}

const defer: (run: () => void) => unknown = globalThis.setImmediate ?? ((run) => setTimeout(run, 0))

async function settlesWithin(promise: Promise<unknown>, milliseconds: number, timers: Timers): Promise<boolean> {
  const { promise: settled, resolve } = Promise.withResolvers<boolean>()
  const timer = timers.setTimeout(() => resolve(false), milliseconds)
  const settle = () => resolve(true)
  promise.then(settle, settle)
  const result = await settled
  timers.clearTimeout(timer)
  return result
}
