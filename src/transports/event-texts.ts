import type { RequestOf, ServerDialect, StreamOperation } from '../dialects/dialect.ts'
import { eventText } from '../http/sse.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { JsonObject } from '../protocol/model.ts'
import { callerError, type Reporting } from './caller-error.ts'
import { generationOf } from './numbered.ts'

/** How a transport writes what it tells in a stream. */
export interface Wording {
  event(wire: JsonObject): string
  failure(error: A2AError): string
}

export interface EventTextsOptions extends Reporting {
  readonly dialect: ServerDialect
  readonly request: RequestOf<StreamOperation>
  readonly wording: Wording
}

/** A failure before the first event is thrown; one after it is the last event. */
export async function* eventTexts(
  events: AsyncIterable<StreamEvent>,
  { dialect, request, wording, ...reporting }: EventTextsOptions,
): AsyncGenerator<string> {
  let begun = false
  try {
    for await (const event of events) {
      const wires = dialect.encodeEvent(event, request)
      for (const [n, wire] of wires.entries()) {
        // Of several that one event became, the last carries its number: a reader resumes after the whole of it.
        const id = n === wires.length - 1 ? generationOf(event) : undefined
        yield eventText({ id, data: wording.event(wire) })
        begun = true
      }
      const failure = dialect.errorAfter?.(event)
      if (failure) throw failure
    }
  } catch (error) {
    if (!begun) throw error
    yield eventText({ event: 'error', data: wording.failure(callerError(error, reporting)) })
  }
}
