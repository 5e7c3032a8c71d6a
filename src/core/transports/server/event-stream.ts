import type { Clock } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import type { ServerDialect } from '../../dialects/dialect.ts'
import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { awaitFirst, eventStream, eventText, oneLine, sseHeaders } from '../../http/sse-writer.ts'
import type { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { RequestOf, Service, StreamOperation } from '../../protocol/service.ts'
import { generationOf } from '../event-numbers.ts'
import {
  type ErrorContext,
  type OpenedStream,
  openStream,
  type StreamOptions,
  toCallerError,
  type WireRequest,
  withDialectHeaders,
} from './call.ts'
import { type AnswerTarget, reserveAnswer } from './large-answers.ts'

/**
 * Long chunks are encoded once for all their readers. Readers of one task read it nearly in step, so a few chunks are
 * enough.
 */
const maxRecentChunks = 8

const recentChunks: EncodedChunk[] = []

let nextChunk = 0

/** Milliseconds after which a resumed stream is taken to be resumable, and its response begins. */
const resumePatience = 100

export interface StreamAnswerOptions extends StreamOptions, ErrorContext {
  readonly incoming: Incoming
  readonly framing: Framing
  /** Milliseconds of silence after which the stream sends a keep-alive comment. */
  readonly heartbeat: number
  readonly clock: Clock
}

/** Answers a call with a stream of server-sent events. Throws what fails before the first event. */
export async function answerStream<O extends StreamOperation>(
  service: Service,
  wireRequest: WireRequest<O>,
  { incoming, onError, framing, heartbeat, clock, ...options }: StreamAnswerOptions,
): Promise<Outgoing> {
  const { dialect, call } = wireRequest
  const { signal } = incoming
  const opened = openStream(service, wireRequest, options)
  const target = { incoming, principal: call.principal }
  const frames = await openFrames({ ...opened, dialect, framing, incoming, onError, target }, heartbeat, clock)
  return {
    status: 200,
    headers: withDialectHeaders(sseHeaders, call, dialect),
    body: eventStream(frames, { heartbeat, signal, timers: clock }),
  }
}

/** How a transport writes the events of a stream. */
export interface Framing extends Pick<EncodeLinesOptions, 'rewrite'> {
  /** Text before and after the JSON of an event. */
  readonly before: string
  readonly after: string
  failure(error: A2AError): string
}

export interface EventFramesOptions extends OpenedStream<StreamOperation>, ErrorContext {
  readonly dialect: ServerDialect
  readonly framing: Framing
  /** Where long events are counted while they wait for their reader. */
  readonly target?: AnswerTarget
}

/** The server-sent events of a stream. A failure before the first event is thrown; a later one is the last event. */
export async function* eventFrames(options: EventFramesOptions): AsyncGenerator<string> {
  const { events, dialect, request, framing, adapt, target } = options
  const { before, after, rewrite } = framing
  const [start, end] = [oneLine(before), oneLine(after)]
  let hasStarted = false
  try {
    for await (const event of events) {
      const failure = dialect.errorInsteadOf?.(event, request)
      if (failure) throw failure
      const lines = linesOf(adapt ? adapt(event) : event, { dialect, request, rewrite })
      let left = lines.length
      for (const line of lines) {
        // If one event becomes several, the last carries its number: a reader resumes after all of them.
        const id = --left === 0 ? generationOf(event) : undefined
        const release = target && reserveAnswer({ bytes: line.length }, target)
        yield eventText({ id, follows: event.follows, data: `${start}${line}${end}` })
        // The next event is pulled when the reader has taken this one.
        release?.()
        hasStarted = true
      }
    }
  } catch (error) {
    if (!hasStarted) throw error
    yield failureFrame(error, options)
  }
}

export interface EncodeLinesOptions {
  readonly dialect: ServerDialect
  readonly request: RequestOf<StreamOperation>
  /** Converts the encoded object, as REST does in some dialects. */
  readonly rewrite?: ((wire: JsonObject) => JsonObject) | undefined
}

function linesOf(events: StreamEvent | readonly StreamEvent[], options: EncodeLinesOptions): readonly string[] {
  return 'type' in events ? encodeLines(events, options) : events.flatMap((event) => encodeLines(event, options))
}

/** Encodes an event as the JSON objects of a dialect, each on one line. */
export function encodeLines(event: StreamEvent, { dialect, request, rewrite }: EncodeLinesOptions): readonly string[] {
  const isShared = dialect.isReaderIndependent && !rewrite && event.type === 'artifact'
  if (!isShared) return dialect.encodeEvent(event, request).map((wire) => toLine(rewrite ? rewrite(wire) : wire))
  const encoded = recentChunks.find((chunk) => chunk.dialect === dialect && isSameChunk(chunk.event, event))
  if (encoded) return encoded.lines
  const lines = dialect.encodeEvent(event, request).map(toLine)
  if (isWorthCaching(lines)) recentChunks[nextChunk++ % maxRecentChunks] = { event, dialect, lines }
  return lines
}

/**
 * Waits for the first event, because until then the call can still be answered with an error; but no longer than
 * readers wait for a sign of life. A resumed stream may have no new event for long, so its response begins early.
 */
function openFrames(options: EventFramesOptions, heartbeat: number, clock: Clock): Promise<AsyncIterable<string>> {
  const { request } = options
  const isResumed = request.after !== undefined && !('message' in request)
  return awaitFirst(eventFrames(options), {
    timeout: isResumed ? Math.min(resumePatience, heartbeat) : heartbeat,
    failureItem: (error) => failureFrame(error, options),
    timers: clock,
  })
}

function toLine(wire: JsonObject): string {
  return oneLine(JSON.stringify(wire))
}

interface EncodedChunk {
  readonly event: ChunkEvent
  readonly dialect: ServerDialect
  readonly lines: readonly string[]
}

type ChunkEvent = Extract<StreamEvent, { readonly type: 'artifact' }>

/** The log gives each reader its own event object, with the same artifact object in it. */
function isSameChunk(one: ChunkEvent, other: ChunkEvent): boolean {
  return one.artifact === other.artifact && one.generation === other.generation && one.taskId === other.taskId
}

/** Short lines are encoded faster than they are found, and very long ones should not stay in memory. */
function isWorthCaching([line = '', ...more]: readonly string[]): boolean {
  return more.length === 0 && line.length >= 1_024 && line.length <= 2 ** 18
}

function failureFrame(error: unknown, { framing, ...context }: EventFramesOptions): string {
  return eventText({ event: 'error', data: oneLine(framing.failure(toCallerError(error, context))) })
}
