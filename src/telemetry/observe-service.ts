import { isObject } from '../base/json.ts'
import { type Trace, traceHeaders } from '../base/trace-context.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, Operation, Outcome, Service } from '../protocol/service.ts'
import {
  type Activity,
  type Learned,
  observe,
  observeStream,
  type Span,
  type Telemetry,
} from '../protocol/telemetry.ts'

/** For `connect(url, { watch: watchClient(telemetry) })`: every call is watched, and tells the agent its trace. */
export function watchClient(telemetry: Telemetry): (service: Service, card: AgentCard) => Service {
  return (service, { name }) => observed(service, telemetry, { side: 'client', agent: name })
}

export interface Observed {
  /** Whether it is ours, or one that we ask. */
  readonly side: 'server' | 'client'
  /** Its name. */
  readonly agent: string
}

/** The same service, watched: every operation is an activity, and what it does is a part of it. */
export function observed(service: Service, telemetry: Telemetry, { side, agent }: Observed): Service {
  const within = side === 'server' ? served : asked
  const activityOf = (operation: Operation): Activity => ({ type: 'operation', side, operation, agent })

  function unary<O extends UnaryOperation>(operation: O): Service[O] {
    const work = service[operation] as (request: object, call: Call) => Promise<unknown>
    const watched = (request: object, call: Call) =>
      observe(telemetry, activityOf(operation), call.trace, async (span) => {
        span?.learn(addressOf(request))
        const result = await work.call(service, request, within(call, span))
        span?.learn(learnedFrom(operation, result))
        return result
      })
    return watched as Service[O]
  }

  function stream<O extends StreamOperation>(operation: O): Service[O] {
    const open = service[operation] as (request: object, call: Call) => AsyncGenerator<StreamEvent>
    const watched = (request: object, call: Call) => watch(operation, request, call, open)
    return watched as Service[O]
  }

  async function* watch(operation: Operation, request: object, call: Call, open: OpenStream) {
    const span = telemetry.begin(activityOf(operation), call.trace)
    span.learn(addressOf(request))
    yield* observeStream(
      span,
      () => open.call(service, request, within(call, span)),
      (event) => span.learn({ event: event.type, ...toldBy(event) }),
    )
  }

  return {
    sendMessage: unary('sendMessage'),
    streamMessage: stream('streamMessage'),
    getTask: unary('getTask'),
    listTasks: unary('listTasks'),
    cancelTask: unary('cancelTask'),
    subscribeToTask: stream('subscribeToTask'),
    createPushConfig: unary('createPushConfig'),
    getPushConfig: unary('getPushConfig'),
    listPushConfigs: unary('listPushConfigs'),
    deletePushConfig: unary('deletePushConfig'),
    getExtendedCard: unary('getExtendedCard'),
  }
}

/** What comes of the call is below its span. A call off the wire has members that cannot be copied. */
function served(call: Call, span: Span | undefined): Call {
  const { principal, signal, idempotencyKey, origin, extensions, activated, deadline, headers } = call
  return {
    principal,
    signal,
    trace: span?.trace ?? call.trace,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(origin !== undefined && { origin }),
    ...(extensions && { extensions }),
    ...(activated && { activated }),
    ...(deadline !== undefined && { deadline }),
    ...(headers && { headers }),
  }
}

function asked(call: Call, span: Span | undefined): Call {
  const trace: Trace | undefined = span?.trace ?? call.trace
  return trace ? { ...call, trace, headers: { ...traceHeaders(trace), ...call.headers } } : call
}

type UnaryOperation = Exclude<Operation, StreamOperation>

type StreamOperation = 'streamMessage' | 'subscribeToTask'

function addressOf(request: object): Learned {
  const about = 'message' in request && isObject(request.message) ? request.message : request
  const { taskId, contextId } = about as { readonly taskId?: unknown; readonly contextId?: unknown }
  return { ...(isText(taskId) && { taskId }), ...(isText(contextId) && { contextId }) }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function learnedFrom(operation: Operation, result: unknown): Learned {
  if (operation === 'sendMessage') {
    const outcome = result as Outcome
    return outcome.type === 'task' ? toldBy(outcome) : messageIds(outcome.message)
  }
  return operation === 'getTask' || operation === 'cancelTask'
    ? toldBy({ type: 'task', task: result as Extract<Outcome, { type: 'task' }>['task'] })
    : {}
}

function toldBy(event: StreamEvent): Learned {
  switch (event.type) {
    case 'task':
      return { taskId: event.task.id, contextId: event.task.contextId, state: event.task.status.state }
    case 'message':
      return messageIds(event.message)
    case 'status':
      return { taskId: event.taskId, contextId: event.contextId, state: event.status.state }
    case 'artifact':
      return {}
  }
}

function messageIds({ contextId }: { readonly contextId?: string | undefined }): Learned {
  return contextId === undefined ? {} : { contextId }
}

type OpenStream = (request: object, call: Call) => AsyncGenerator<StreamEvent>
