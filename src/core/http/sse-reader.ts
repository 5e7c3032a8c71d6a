import { createParser } from 'eventsource-parser'
import { unlessAborted, withDeadline } from '../base/abort.ts'
import { systemClock, type Timers } from '../base/clock.ts'
import { followsLabel } from './sse-writer.ts'

export interface ReadEventsOptions {
  /** Maximum length of one event in characters. */
  readonly limit: number
  /** Milliseconds without a byte after which the connection counts as dead. */
  readonly idle: number
  readonly signal: AbortSignal
  readonly timers?: Timers
}

/** A server-sent event as received. */
export interface ReadEvent {
  /** An event without an id has none: servers that number events number all of them. */
  readonly id: string | undefined
  readonly event: string | undefined
  /** The id of the previous event, from Parley servers. */
  readonly follows: string | undefined
  readonly data: string
}

export interface LastEvent extends ReadEvent {
  /**
   * The stream ended before the empty line: the event may be complete, as some servers omit that line, or truncated.
   */
  readonly isCut?: boolean
}

/** Yields the events of a stream, however it is split into chunks. Closes the connection when the reader stops. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { limit, idle, signal, timers = systemClock }: ReadEventsOptions,
): AsyncGenerator<LastEvent, void> {
  const eventsIn = createEventParser(limit)
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await unlessIdle(reader.read(), idle, signal, timers)
      if (done) break
      yield* eventsIn(decoder.decode(value, { stream: true }))
    }
    for (const event of eventsIn(`${decoder.decode()}\n\n`)) yield { ...event, isCut: true }
  } finally {
    // Canceling a broken stream rejects.
    reader.cancel().catch(() => {})
  }
}

/**
 * Reads server-sent events (WHATWG HTML §9.2.6) from text that may be split anywhere; returns the events that each
 * piece completes. Buffers at most one event of up to `limit` characters.
 */
export function createEventParser(limit: number): (piece: string) => Generator<ReadEvent, void> {
  let events: ReadEvent[] = []
  let follows: string | undefined
  let isTooLarge = false
  /** Characters of other fields since the last event: without data they are never dispatched, and never end. */
  let idle = 0
  const parser = createParser({
    maxBufferSize: limit + dataLabel,
    onEvent({ id, event, data }) {
      if (data.length > limit) isTooLarge = true
      if (!isTooLarge) events.push({ id, event, follows, data })
      follows = undefined
      idle = 0
    },
    onComment(comment) {
      // Heartbeats are comments, and a stream may have any number of them.
      idle -= comment.length
      if (comment.startsWith(followsLabel)) follows = comment.slice(followsLabel.length)
    },
    onError({ type }) {
      if (type === 'max-buffer-size-exceeded') isTooLarge = true
    },
  })

  return function* take(piece) {
    idle += piece.length
    parser.feed(piece)
    if (idle > 4 * limit + piece.length) isTooLarge = true
    const complete = events
    events = []
    yield* complete
    if (isTooLarge) throw new EventTooLarge(limit)
  }
}

/** The parser also counts the field name of an incomplete line. */
const dataLabel = 'data: '.length

export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge'
  constructor(limit: number) {
    super(`an event is longer than ${limit} characters`)
  }
}

/** Proxies may cut connections without notifying either side; live servers send a comment now and then. */
export class StreamSilent extends Error {
  override readonly name = 'StreamSilent'
  readonly idle: number
  constructor(idle: number) {
    super(`nothing came for ${idle} ms`)
    this.idle = idle
  }
}

/** Settles like `reading`, or rejects if the stream stays silent for too long or the signal aborts. */
async function unlessIdle<T>(reading: Promise<T>, idle: number, caller: AbortSignal, timers: Timers): Promise<T> {
  const { signal, release } = withDeadline(caller, idle, () => new StreamSilent(idle), timers)
  try {
    return await unlessAborted(reading, signal)
  } finally {
    release()
  }
}
