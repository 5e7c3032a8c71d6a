import type { Clock } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import type { ServerDialect } from '../../dialects/dialect.ts'
import { awaitFirst, eventText, oneLine } from '../../http/sse-writer.ts'
import type { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { RequestOf, StreamOperation } from '../../protocol/service.ts'
import { generationOf } from '../event-numbers.ts'
import { callerError, type Reporting } from './errors.ts'

/**
 * Long chunks are written once for all who read them: readers of one task go through it nearly side by side, so that
 * the last few are enough.
 */
const kept = 8

const recent: Written[] = []

let next = 0

/** Milliseconds within which it is known whether a stream can be continued. */
const continuing = 100

export interface LinesOptions {
  readonly dialect: ServerDialect
  readonly request: RequestOf<StreamOperation>
  /** Makes another object of what the dialect says. */
  readonly rewrite?: ((wire: JsonObject) => JsonObject) | undefined
}

/** How a transport writes what it tells in a stream. */
export interface Framing extends Pick<LinesOptions, 'rewrite'> {
  /** What stands around the JSON of an event. */
  readonly before: string
  readonly after: string
  failure(error: A2AError): string
}

export interface EventTextsOptions extends Reporting {
  readonly dialect: ServerDialect
  readonly request: RequestOf<StreamOperation>
  readonly wording: Framing
  /** How the reader is told an event, if it is not as it is. */
  readonly spell?: (event: StreamEvent) => StreamEvent
}

export interface OpenOptions extends EventTextsOptions {
  /** Milliseconds after which a silent stream says that it is still there. */
  readonly heartbeat: number
  readonly clock?: Clock
}

/**
 * The texts of a stream as soon as it is one: with its first event, for until then it may still fail; but not later than
 * readers expect a sign of life. Who continues a stream may have to wait long for what comes next, and is told at once.
 */
export async function openEventStream(
  events: AsyncIterable<StreamEvent>,
  { heartbeat, clock, ...options }: OpenOptions,
): Promise<AsyncIterable<string>> {
  const isContinued = options.request.after !== undefined && !('message' in options.request)
  return await awaitFirst(eventFrames(events, options), {
    patience: isContinued ? Math.min(continuing, heartbeat) : heartbeat,
    late: (error) => failureText(error, options),
    ...(clock && { timers: clock }),
  })
}

/** A failure before the first event is thrown; one after it is the last event. */
export async function* eventFrames(
  events: AsyncIterable<StreamEvent>,
  options: EventTextsOptions,
): AsyncGenerator<string> {
  const { dialect, request, wording, spell } = options
  const { before, after, rewrite } = wording
  const [start, end] = [oneLine(before), oneLine(after)]
  let begun = false
  try {
    for await (const event of events) {
      const lines = encodeLines(spell ? spell(event) : event, { dialect, request, rewrite })
      for (const [n, line] of lines.entries()) {
        // Of several that one event became, the last carries its number: a reader resumes after the whole of it.
        const id = n === lines.length - 1 ? generationOf(event) : undefined
        yield eventText({ id, follows: event.follows, data: `${start}${line}${end}` })
        begun = true
      }
      const failure = dialect.errorAfter?.(event)
      if (failure) throw failure
    }
  } catch (error) {
    if (!begun) throw error
    yield failureText(error, options)
  }
}

/** What a dialect says of an event, each object as JSON on one line. */
export function encodeLines(event: StreamEvent, { dialect, request, rewrite }: LinesOptions): readonly string[] {
  const isShared = dialect.isReaderIndependent && !rewrite && event.type === 'artifact'
  if (!isShared) return dialect.encodeEvent(event, request).map((wire) => toLine(rewrite ? rewrite(wire) : wire))
  const known = recent.find((written) => written.dialect === dialect && isSame(written.event, event))
  if (known) return known.lines
  const lines = dialect.encodeEvent(event, request).map(toLine)
  if (isWorthKeeping(lines)) recent[next++ % kept] = { event, dialect, lines }
  return lines
}

function toLine(wire: JsonObject): string {
  return oneLine(JSON.stringify(wire))
}

interface Written {
  readonly event: Chunk
  readonly dialect: ServerDialect
  readonly lines: readonly string[]
}

type Chunk = Extract<StreamEvent, { readonly type: 'artifact' }>

/** Each reader gets an object of its own, in which the log put the same artifact. */
function isSame(one: Chunk, other: Chunk): boolean {
  return one.artifact === other.artifact && one.generation === other.generation && one.taskId === other.taskId
}

/** Shorter ones are written faster than they are found; and giants are not held longer than they must be. */
function isWorthKeeping([line = '', ...more]: readonly string[]): boolean {
  return more.length === 0 && line.length >= 1_024 && line.length <= 2 ** 18
}

function failureText(error: unknown, { wording, signal, onError, incoming }: EventTextsOptions): string {
  return eventText({
    event: 'error',
    data: oneLine(wording.failure(callerError(error, { signal, onError, ...(incoming && { incoming }) }))),
  })
}
