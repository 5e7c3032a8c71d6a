import { unlessAborted, withDeadline } from './deadline.ts'
import { createEventParser, type ReadEvent } from './event-parser.ts'
import { systemTimers, type Timers } from './timers.ts'

/** An event, of which the last may lack its end. */
export interface LastEvent extends ReadEvent {
  /** The stream ended in the middle of it: it may be whole, as some servers forget the empty line, or half. */
  readonly isCut?: boolean
}

export interface ReadEventsOptions {
  /** Characters of one event. */
  readonly limit: number
  /** Milliseconds without a byte after which nobody is believed to be there any more. */
  readonly idle: number
  readonly signal: AbortSignal
  readonly timers?: Timers
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
  { limit, idle, signal, timers = systemTimers }: ReadEventsOptions,
): AsyncGenerator<LastEvent, void> {
  const eventsIn = createEventParser(limit)
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), idle, signal, timers)
      if (done) break
      yield* eventsIn(decoder.decode(value, { stream: true }))
    }
    for (const event of eventsIn(`${decoder.decode()}\n\n`)) yield { ...event, isCut: true }
  } finally {
    // Of a stream that broke, there is nothing to cancel.
    reader.cancel().catch(() => {})
  }
}

/** Settles as `reading` does, unless silence or the signal is faster. */
async function within<T>(reading: Promise<T>, idle: number, caller: AbortSignal, timers: Timers): Promise<T> {
  const { signal, release } = withDeadline(caller, idle, () => new StreamSilent(idle), timers)
  try {
    return await unlessAborted(reading, signal)
  } finally {
    release()
  }
}
