import type { Dialect } from '../../dialects/dialect.ts'
import { eventText } from '../../http/sse.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { callerError, type Reporting } from './caller-error.ts'
import { failureText, type RequestId, successText } from './envelope.ts'

export interface EventTextsOptions extends Reporting {
  readonly id: RequestId
  readonly dialect: Dialect
}

/** A failure before the first event is thrown; one after it is the last event. */
export async function* eventTexts(
  events: AsyncIterable<StreamEvent>,
  { id, dialect, ...reporting }: EventTextsOptions,
): AsyncGenerator<string> {
  let begun = false
  try {
    for await (const event of events) {
      yield eventText({ id: generationOf(event), data: successText(id, dialect.encodeEvent(event)) })
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
