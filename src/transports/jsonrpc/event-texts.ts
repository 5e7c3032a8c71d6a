import type { RequestOf, ServerDialect, StreamOperation } from '../../dialects/dialect.ts'
import { eventText } from '../../http/sse.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { callerError, type Reporting } from './caller-error.ts'
import { failureText, type RequestId, successText } from './envelope.ts'

export interface EventTextsOptions extends Reporting {
  readonly id: RequestId
  readonly dialect: ServerDialect
  readonly request: RequestOf<StreamOperation>
}

/** A failure before the first event is thrown; one after it is the last event. */
export async function* eventTexts(
  events: AsyncIterable<StreamEvent>,
  { id, dialect, request, ...reporting }: EventTextsOptions,
): AsyncGenerator<string> {
  let begun = false
  try {
    for await (const event of events) {
      // Of several that one event became, the last carries its number: the others alone are nothing to resume after.
      const wires = dialect.encodeEvent(event, request)
      for (const [n, wire] of wires.entries()) {
        const generation = n === wires.length - 1 ? generationOf(event) : undefined
        yield eventText({ id: generation, data: successText(id, wire) })
      }
      begun = true
    }
  } catch (error) {
    if (!begun) throw error
    const told = dialect.encodeError(callerError(error, reporting))
    yield eventText({ event: 'error', data: failureText(id, told) })
  }
}

/** A message is all there is: nothing can be continued after it. */
function generationOf(event: StreamEvent): number | undefined {
  switch (event.type) {
    case 'message':
      return undefined
    case 'task':
      return event.task.generation
    case 'status':
    case 'artifact':
      return event.generation
  }
}
