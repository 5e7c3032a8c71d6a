import { defined, isObject } from '../base/json.ts'
import { type Trace, traceHeaders } from '../base/trace-context.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { type Interceptor, intercept } from '../protocol/intercept.ts'
import {
  type Call,
  type Operation,
  type Outcome,
  type ResultOf,
  type Service,
  type UnaryOperation,
  withCall,
} from '../protocol/service.ts'
import {
  type Activity,
  type ActivityDetails,
  observe,
  observeStream,
  type Span,
  type Telemetry,
} from '../protocol/telemetry.ts'

/** Reports every call of a client, and sends the agent its trace: `connect(url, { watch: watchClient(telemetry) })`. */
export function observeClient(telemetry: Telemetry): (service: Service, card: AgentCard) => Service {
  return (service, { name }) => intercept(service, [observeCalls(telemetry, { side: 'client', agent: name })])
}

export interface ObserveOptions {
  /** `server` for calls that this process answers, `client` for calls that it sends. */
  readonly side: 'server' | 'client'
  /** Name of the agent. */
  readonly agent: string
}

/** Reports every operation as an activity. Activities below it belong to the same trace. */
export function observeCalls(telemetry: Telemetry, { side, agent }: ObserveOptions): Interceptor {
  const callOf = side === 'server' ? serverCall : clientCall
  const activityOf = (operation: Operation): Activity => ({ type: 'operation', side, operation, agent })
  return {
    unary: (operation, request, call, next) =>
      observe(telemetry, activityOf(operation), call.trace, async (span): Promise<ResultOf<typeof operation>> => {
        span?.addDetails(idsOfRequest(request))
        const result: ResultOf<typeof operation> = await next(request, callOf(call, span))
        span?.addDetails(idsOfResult(operation, result))
        return result
      }),
    async *stream(operation, request, call, next) {
      const span = telemetry.begin(activityOf(operation), call.trace)
      span.addDetails(idsOfRequest(request))
      yield* observeStream(
        span,
        () => next(request, callOf(call, span)),
        (event) => span.addDetails({ event: event.type, ...idsOfEvent(event) }),
      )
    },
  }
}

function serverCall(call: Call, span: Span | undefined): Call {
  return withCall(call, { trace: span?.trace ?? call.trace })
}

/** A header that repeats the trace of the call is that of the span; one that the caller has set otherwise stays. */
function clientCall(call: Call, span: Span | undefined): Call {
  const trace: Trace | undefined = span?.trace ?? call.trace
  if (!trace) return call
  const { headers } = call
  const isRepeated = call.trace !== undefined && headers?.traceparent === call.trace.traceparent
  const own = traceHeaders(trace)
  return { ...call, trace, headers: isRepeated ? { ...headers, ...own } : { ...own, ...headers } }
}

function idsOfRequest(request: object): ActivityDetails {
  const about = 'message' in request && isObject(request.message) ? request.message : request
  const { taskId, contextId } = about as { readonly taskId?: unknown; readonly contextId?: unknown }
  return defined({ taskId: isText(taskId) ? taskId : undefined, contextId: isText(contextId) ? contextId : undefined })
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function idsOfResult(operation: UnaryOperation, result: unknown): ActivityDetails {
  if (operation === 'sendMessage') {
    const outcome = result as Outcome
    return outcome.type === 'task' ? idsOfEvent(outcome) : idsOfMessage(outcome.message)
  }
  return operation === 'getTask' || operation === 'cancelTask'
    ? idsOfEvent({ type: 'task', task: result as Extract<Outcome, { type: 'task' }>['task'] })
    : {}
}

function idsOfEvent(event: StreamEvent): ActivityDetails {
  switch (event.type) {
    case 'task':
      return { taskId: event.task.id, contextId: event.task.contextId, state: event.task.status.state }
    case 'message':
      return idsOfMessage(event.message)
    case 'status':
      return { taskId: event.taskId, contextId: event.contextId, state: event.status.state }
    case 'artifact':
      return {}
  }
}

function idsOfMessage({ contextId }: { readonly contextId?: string | undefined }): ActivityDetails {
  return contextId === undefined ? {} : { contextId }
}
