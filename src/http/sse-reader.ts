import { unlessAborted, withDeadline } from '../base/abort.ts'
import { systemClock, type Timers } from '../base/clock.ts'

/** The name of the field is held together with its text until the line ends. */
const label = 'data: '.length

export interface ReadEventsOptions {
  /** Characters of one event. */
  readonly limit: number
  /** Milliseconds without a byte after which nobody is believed to be there any more. */
  readonly idle: number
  readonly signal: AbortSignal
  readonly timers?: Timers
}

/** A server-sent event as it came. */
export interface ReadEvent {
  readonly id?: string
  readonly event?: string
  /** Of Parley: the id of the event before it. */
  readonly follows?: string
  readonly data: string
}

/** An event, of which the last may lack its end. */
export interface LastEvent extends ReadEvent {
  /** The stream ended in the middle of it: it may be whole, as some servers forget the empty line, or half. */
  readonly isCut?: boolean
}

/** The events of a stream, however it is cut into chunks. Who stops reading closes the connection. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { limit, idle, signal, timers = systemClock }: ReadEventsOptions,
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

/**
 * Reads server-sent events (WHATWG HTML §9.2.6) from text that may be cut anywhere: of each piece the events that end
 * in it. It holds one event at the most, and that up to `limit` characters. An event without an id has none here, since
 * whoever numbers events numbers all of them.
 */
export function createEventParser(limit: number): (piece: string) => Generator<ReadEvent, void> {
  let line = ''
  let isAfterReturn = false
  let fields: { id?: string; event?: string; follows?: string; data?: string } = {}

  function takeLine(): void {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'data') fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`
    else if (name === 'event' || name === 'follows' || (name === 'id' && !value.includes('\0'))) fields[name] = value
  }

  return function* take(piece) {
    const [first = '', ...others] = (isAfterReturn ? piece.replace(/^\n/, '') : piece).split(/\r\n?|\n/)
    if (piece !== '') isAfterReturn = piece.endsWith('\r')
    line += first
    for (const next of others) {
      const { data, ...rest } = fields
      if (line !== '') takeLine()
      else {
        fields = {}
        if (data !== undefined) yield { ...rest, data }
      }
      if ((fields.data?.length ?? 0) > limit) throw new EventTooLarge(limit)
      line = next
    }
    if ((fields.data?.length ?? 0) + line.length > limit + label) throw new EventTooLarge(limit)
  }
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

/** Settles as `reading` does, unless silence or the signal is faster. */
async function within<T>(reading: Promise<T>, idle: number, caller: AbortSignal, timers: Timers): Promise<T> {
  const { signal, release } = withDeadline(caller, idle, () => new StreamSilent(idle), timers)
  try {
    return await unlessAborted(reading, signal)
  } finally {
    release()
  }
}
