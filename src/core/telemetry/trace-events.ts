import type { JsonObject } from '../base/json.ts'
import { spanIdOf, startSpan, type Trace, traceIdOf } from '../base/trace-context.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Interceptor } from '../protocol/intercept.ts'
import { type Call, withCall } from '../protocol/service.ts'

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
  const isTraced = ({ traceMetadata }: TraceableRequest) => always || traceMetadata === true

  function within(call: Call): Call {
    return hasSpans && call.trace ? call : withCall(call, { trace: startSpan(call.trace) })
  }

  // Not a generator: other requests get the stream of `next` as it is.
  function trace<R extends TraceableRequest>(request: R, call: Call, next: Next<R>): AsyncGenerator<StreamEvent> {
    if (!isTraced(request)) return next(request, call)
    const traced = within(call)
    return addPositions(next(request, traced), traced.trace)
  }

  return {
    sendMessage: (request, call, next) => next(request, isTraced(request) ? within(call) : call),
    streamMessage: trace,
    subscribeToTask: trace,
  }
}

interface TraceableRequest {
  readonly traceMetadata?: boolean
}

type Next<R> = (request: R, call: Call) => AsyncGenerator<StreamEvent>

async function* addPositions(events: AsyncGenerator<StreamEvent>, trace?: Trace): AsyncGenerator<StreamEvent> {
  for await (const event of events) yield trace ? withPosition(event, trace) : event
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
