import { createParser } from 'eventsource-parser'

/** A server-sent event as it came. */
export interface ReadEvent {
  readonly id?: string
  readonly event?: string
  readonly data: string
  /** The stream ended in the middle of it: it may be whole, as some servers forget the empty line, or half. */
  readonly isCut?: boolean
}

export interface ReadEventsOptions {
  /** Characters of one event. */
  readonly limit: number
  /** Milliseconds without a byte after which nobody is believed to be there any more. */
  readonly idle: number
  readonly signal: AbortSignal
}

export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge'
  constructor(limit: number) {
    super(`an event is longer than ${limit} characters`)
  }
}

/** Proxies cut connections without telling either side; live servers send a comment now and then. */
export class StreamSilent extends Error {
  override readonly name = 'StreamSilent'
  readonly idle: number
  constructor(idle: number) {
    super(`nothing came for ${idle} ms`)
    this.idle = idle
  }
}

/** The events of a stream, however it is cut into chunks. Who stops reading closes the connection. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { limit, idle, signal }: ReadEventsOptions,
): AsyncGenerator<ReadEvent, void> {
  const ready: ReadEvent[] = []
  let isTooLarge = false
  const parser = createParser({
    maxBufferSize: limit,
    onEvent: (event) => ready.push(event),
    // Unknown fields are none of our business (WHATWG HTML §9.2.6).
    onError: ({ type }) => {
      isTooLarge ||= type === 'max-buffer-size-exceeded'
    },
  })
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), idle, signal)
      if (done) break
      parser.feed(decoder.decode(value, { stream: true }))
      // The parser measures what it still holds; an event that came in one chunk never was held.
      for (const event of ready.splice(0)) {
        if (event.data.length > limit) throw new EventTooLarge(limit)
        yield event
      }
      if (isTooLarge) throw new EventTooLarge(limit)
    }
    parser.feed(`${decoder.decode()}\n\n`)
    for (const event of ready) yield { ...event, isCut: true }
  } finally {
    // Of a stream that broke, there is nothing to cancel.
    reader.cancel().catch(() => {})
  }
}

/** Settles as `reading` does, unless silence or the signal is faster. */
async function within<T>(reading: Promise<T>, idle: number, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise: given, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  const timer = setTimeout(() => reject(new StreamSilent(idle)), idle)
  try {
    return await Promise.race([reading, given])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}
