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
  /** The fields since the last empty line. */
  let fields: Fields = {}
  let follows: string | undefined
  /** The start of a line whose end has not come yet. */
  let start = ''
  let endsInReturn = false
  /** Characters of other lines since the last event: without data they are never emitted, and may never end. */
  let unread = 0
  let isTooLarge = false

  function readLine(line: string): void {
    const colon = line.indexOf(':')
    const name = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
    if (name === 'data') {
      fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`
      isTooLarge ||= fields.data.length > limit
    } else if (name === '') {
      // Heartbeats are comments, and a stream may have any number of them.
      if (value.startsWith(followsLabel)) follows = value.slice(followsLabel.length)
    } else {
      unread += line.length
      if (name === 'event') fields.event = value || undefined
      else if (name === 'id' && !value.includes('\0')) fields.id = value
    }
  }

  function endEvent(): void {
    const { id, event, data } = fields
    fields = {}
    if (data === undefined) return
    if (!isTooLarge) events.push({ id, event, follows, data })
    follows = undefined
    unread = 0
  }

  /** Keeps the start of a line, but only if the line can be one that is read. */
  function keepStart(text: string): void {
    const isTooLong = text.length + (fields.data?.length ?? 0) > limit + longestLabel
    const isSkipped = isTooLong && !/^(data|event|id|):/.test(text)
    start = isSkipped ? unknownField : text
    unread += text.length - start.length
    isTooLarge ||= isTooLong && !isSkipped
  }

  return function* take(piece) {
    const rest = endsInReturn && piece.startsWith('\n') ? piece.slice(1) : piece
    if (piece !== '') endsInReturn = piece.endsWith('\r')
    const text = rest.includes('\r') ? rest.replaceAll('\r\n', '\n').replaceAll('\r', '\n') : rest
    let at = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', at)) {
      const line = start + text.slice(at, end)
      if (line === '') endEvent()
      else readLine(line)
      start = ''
      at = end + 1
    }
    if (at < text.length) keepStart(start + text.slice(at))
    isTooLarge ||= unread > 4 * limit
    const complete = events
    events = []
    yield* complete
    if (isTooLarge) throw new EventTooLarge(limit)
  }
}

interface Fields {
  id?: string
  event?: string
  data?: string
}

const longestLabel = 'event: '.length

/** Stands for a line of any length that is not read. */
const unknownField = 'x'

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
