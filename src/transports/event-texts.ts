import type { RequestOf, ServerDialect, StreamOperation } from '../dialects/dialect.ts'
import { eventText, oneLine } from '../http/sse.ts'
import { withFirst } from '../http/with-first.ts'
import type { Clock } from '../protocol/clock.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { callerError, type Reporting } from './caller-error.ts'
import { type LinesOptions, linesOf } from './event-lines.ts'
import { generationOf } from './numbered.ts'

/** How a transport writes what it tells in a stream. */
export interface Wording extends Pick<LinesOptions, 'rewrite'> {
  /** What stands around the JSON of an event. */
  readonly before: string
  readonly after: string
  failure(error: A2AError): string
}

export interface EventTextsOptions extends Reporting {
  readonly dialect: ServerDialect
  readonly request: RequestOf<StreamOperation>
  readonly wording: Wording
  /** How the reader is told an event, if it is not as it is. */
  readonly spell?: (event: StreamEvent) => StreamEvent
}

export interface OpenOptions extends EventTextsOptions {
  /** Milliseconds after which a silent stream says that it is still there. */
  readonly heartbeat: number
  readonly clock?: Clock
}

/** Milliseconds within which it is known whether a stream can be continued. */
const continuing = 100

/**
 * The texts of a stream as soon as it is one: with its first event, for until then it may still fail; but not later than
 * readers expect a sign of life. Who continues a stream may have to wait long for what comes next, and is told at once.
 */
export async function openTexts(
  events: AsyncIterable<StreamEvent>,
  { heartbeat, clock, ...options }: OpenOptions,
): Promise<AsyncIterable<string>> {
  const isContinued = options.request.after !== undefined && !('message' in options.request)
  return await withFirst(eventTexts(events, options), {
    patience: isContinued ? Math.min(continuing, heartbeat) : heartbeat,
    late: (error) => failureText(error, options),
    ...(clock && { timers: clock }),
  })
}

function failureText(error: unknown, { wording, signal, onError, incoming }: EventTextsOptions): string {
  return eventText({
    event: 'error',
    data: oneLine(wording.failure(callerError(error, { signal, onError, ...(incoming && { incoming }) }))),
  })
}

/** A failure before the first event is thrown; one after it is the last event. */
export async function* eventTexts(
  events: AsyncIterable<StreamEvent>,
  options: EventTextsOptions,
): AsyncGenerator<string> {
  const { dialect, request, wording, spell } = options
  const { before, after, rewrite } = wording
  const [start, end] = [oneLine(before), oneLine(after)]
  let begun = false
  try {
    for await (const event of events) {
      const lines = linesOf(spell ? spell(event) : event, { dialect, request, rewrite })
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
