import { defined, type JsonObject } from '../base/json.ts'
import { spanIdOf, startSpan, type Trace, traceIdOf } from '../base/trace-context.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Interceptor } from '../protocol/intercept.ts'
import type { Call } from '../protocol/service.ts'
import { callWithin } from './observe-service.ts'

export interface TraceEventsOptions {
  /** Whether the telemetry has put a span of its own into `call.trace`. */
  readonly hasSpans: boolean
  /** Trace the events of every caller. Otherwise, only of those whose request has `traceMetadata`. */
  readonly always: boolean
}

/**
 * Gives every event its position in the trace: `metadata.traceId` and `metadata.spanId`. Events of a turn have them when
 * they are stored; the others, such as the task at the start of a stream, get those of the call. Calls without a span of
 * ours get one, in the trace of the caller or in a new one.
 */
export function traceEvents({ hasSpans, always }: TraceEventsOptions): Interceptor {
  function within(call: Call): Call {
    return hasSpans && call.trace ? call : callWithin(call, startSpan(call.trace))
  }

  return {
    ...defined({ onlyWith: always ? undefined : 'traceMetadata' }),
    sendMessage: (request, call, next) => next(request, within(call)),
    streamMessage: (request, call, next) => trace(request, within(call), next),
    subscribeToTask: (request, call, next) => trace(request, within(call), next),
  }
}

async function* trace<R>(
  request: R,
  call: Call,
  next: (request: R, call: Call) => AsyncGenerator<StreamEvent>,
): AsyncGenerator<StreamEvent> {
  for await (const event of next(request, call)) yield call.trace ? withPosition(event, call.trace) : event
}

function withPosition(event: StreamEvent, trace: Trace): StreamEvent {
  const add = (metadata: JsonObject | undefined) =>
    metadata?.traceId === undefined ? { ...metadata, traceId: traceIdOf(trace), spanId: spanIdOf(trace) } : metadata
  switch (event.type) {
    case 'task':
      return { ...event, task: { ...event.task, metadata: add(event.task.metadata) } }
    case 'message':
      return { ...event, message: { ...event.message, metadata: add(event.message.metadata) } }
    case 'status':
    case 'artifact':
      return { ...event, metadata: add(event.metadata) }
  }
}
