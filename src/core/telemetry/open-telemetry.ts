import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  type Span as OtelSpan,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { defined } from '../base/json.ts'
import { checkOptions, flag, having } from '../base/options.ts'
import { spanIdOf, type Trace, traceFlagsOf, traceIdOf } from '../base/trace-context.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Operation } from '../protocol/service.ts'
import type { Activity, ActivityDetails, Span, Telemetry } from '../protocol/telemetry.ts'

/** Activities of a turn. The active span of a turn is a more precise parent than the trace of its call. */
const turnActivities: readonly Activity['type'][] = ['model', 'tool', 'call']

/** Codes of errors that are not the caller's. */
const serverErrors: readonly string[] = ['internal', 'unavailable', 'timeout', 'tool-failed', 'invalid-agent-response']

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** Defaults to the tracer of the global provider, at whatever time that is set. */
  readonly tracer?: Tracer
  /** Creates a span for every event of a task, from when it is emitted until it is stored. Defaults to false. */
  readonly events?: boolean
  /** Records the messages of errors. They may contain what callers sent. Defaults to false. */
  readonly errorMessages?: boolean
}

/**
 * Creates spans by OpenTelemetry's draft conventions for generative AI. Without an OpenTelemetry SDK, traces are only
 * passed on.
 *
 * @example
 * await serve(echo, { telemetry: openTelemetry() })
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  checkOptions('openTelemetry', options, {
    tracer: having('a tracer of OpenTelemetry', 'startSpan'),
    events: flag,
    errorMessages: flag,
  })
  const { tracer, events = false, errorMessages = false } = options
  return {
    watchesEvents: events,
    begin(activity, under) {
      const { name, kind } = describe(activity)
      const parent = contextOf(activity, under)
      const currentTracer = tracer ?? trace.getTracer('parley-a2a')
      const span = currentTracer.startSpan(name, { kind, attributes: attributesOf(activity) }, parent)
      return new OpenSpan(span, parent, { activity, under, errorMessages })
    },
  }
}

/**
 * Names of spans and attributes come from OpenTelemetry's draft conventions for generative AI or, where these have none,
 * begin with `a2a.`. Contents of messages and inputs of tools are never recorded, and messages of errors only by option.
 */
function describe(activity: Activity): { readonly name: string; readonly kind: SpanKind } {
  switch (activity.type) {
    case 'operation': {
      const kind = activity.side === 'server' ? SpanKind.SERVER : SpanKind.CLIENT
      return { name: `${wireName(activity.operation)} ${activity.agent}`, kind }
    }
    case 'turn':
      return { name: `invoke_agent ${activity.agent}`, kind: SpanKind.INTERNAL }
    case 'call':
      return { name: `invoke_agent ${activity.agent}`, kind: SpanKind.CLIENT }
    case 'model':
      return { name: `chat ${activity.model}`, kind: SpanKind.CLIENT }
    case 'tool':
      return { name: `execute_tool ${activity.tool}`, kind: SpanKind.INTERNAL }
    case 'delivery':
      return { name: `push ${activity.host}`, kind: SpanKind.CLIENT }
    case 'event':
      return { name: `event ${activity.event}`, kind: SpanKind.INTERNAL }
    case 'mesh':
      return { name: `mesh ${activity.method}`, kind: activity.side === 'server' ? SpanKind.SERVER : SpanKind.CLIENT }
  }
}

/** The name of an operation in A2A 1.0, such as `SendMessage`. */
function wireName(operation: Operation): string {
  return `${operation.slice(0, 1).toUpperCase()}${operation.slice(1)}`
}

/** The parent of a span: the given trace, or else the active span. */
function contextOf({ type }: Activity, under: Trace | undefined): Context {
  const active = context.active()
  if (!under) return active
  const spanId = spanIdOf(under)
  const current = trace.getSpanContext(active)
  if (current?.spanId === spanId) return active
  if (turnActivities.includes(type) && current?.traceId === traceIdOf(under)) return active
  const { tracestate } = under
  return trace.setSpanContext(
    active,
    defined({
      traceId: traceIdOf(under),
      spanId,
      traceFlags: traceFlagsOf(under),
      isRemote: true,
      traceState: tracestate === undefined ? undefined : createTraceState(tracestate),
    }),
  )
}

function attributesOf(activity: Activity): Attributes {
  switch (activity.type) {
    case 'operation':
      return { 'a2a.operation': wireName(activity.operation), 'gen_ai.agent.name': activity.agent }
    case 'turn':
      return {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': activity.agent,
        ...taskAttributes(activity),
        'a2a.attempt': activity.attempt,
      }
    case 'call':
      return {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': activity.agent,
        ...taskAttributes(activity),
      }
    case 'model':
      return {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': activity.provider,
        'gen_ai.request.model': activity.model,
      }
    case 'tool':
      return defined({
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': activity.tool,
        'gen_ai.tool.call.id': activity.callId,
        'gen_ai.tool.description': activity.description,
      })
    case 'delivery':
      return {
        ...taskAttributes(activity),
        'server.address': activity.host,
        'a2a.generation': activity.generation,
        'http.request.resend_count': activity.attempt - 1,
      }
    case 'event':
      return {
        ...taskAttributes(activity),
        'a2a.event': activity.event,
        ...defined({ 'a2a.task.state': activity.state }),
      }
    case 'mesh':
      return { 'rpc.system': 'mesh', 'rpc.method': activity.method, 'mesh.peer': activity.peer }
  }
}

function taskAttributes({ taskId, contextId }: { readonly taskId: string; readonly contextId: string }): Attributes {
  return { 'a2a.task.id': taskId, 'gen_ai.conversation.id': contextId }
}

interface SpanOptions {
  readonly activity: Activity
  readonly under: Trace | undefined
  readonly errorMessages: boolean
}

class OpenSpan implements Span {
  readonly trace: Trace | undefined
  readonly #span: OtelSpan
  readonly #context: Context
  readonly #activity: Activity
  readonly #errorMessages: boolean
  #isOver = false

  constructor(span: OtelSpan, parent: Context, { activity, under, errorMessages }: SpanOptions) {
    this.#span = span
    this.#context = trace.setSpan(parent, span)
    this.#activity = activity
    // Why a delivery failed is written here, and says nothing about the task.
    this.#errorMessages = errorMessages || activity.type === 'delivery'
    this.trace = traceOf(span) ?? under
  }

  run<T>(work: () => T): T {
    return context.with(this.#context, work)
  }

  addDetails(more: ActivityDetails): void {
    // There may be thousands of chunks, and they have no attributes.
    if (this.#isOver || more.event === 'artifact') return
    this.#span.setAttributes(attributesOfLearned(more))
    if (more.agent !== undefined) this.#span.updateName(`invoke_agent ${more.agent}`)
  }

  end(failure?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    if (failure !== undefined) this.#fail(failure)
    this.#span.end()
  }

  #fail(failure: unknown): void {
    const { type, message } = describeFailure(failure)
    this.#span.setAttribute('error.type', type)
    // A caller's mistake is not an error of the server.
    if (this.#activity.type === 'operation' && this.#activity.side === 'server' && isCallerError(failure)) return
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message: this.#errorMessages ? message : type })
    this.#span.recordException(this.#errorMessages ? { name: type, message } : { name: type })
  }
}

function traceOf(span: OtelSpan): Trace | undefined {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  if (!isSpanContextValid({ traceId, spanId, traceFlags })) return undefined
  const flags = traceFlags.toString(16).padStart(2, '0')
  const tracestate = traceState?.serialize()
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(tracestate ? { tracestate } : {}) }
}

/** Without stack and cause, which may contain private data. */
function describeFailure(failure: unknown): { readonly type: string; readonly message: string } {
  if (failure instanceof A2AError) return { type: failure.code, message: failure.message }
  const { name, message } = (typeof failure === 'object' && failure !== null ? failure : {}) as Partial<Error>
  return { type: name ?? typeof failure, message: message ?? String(failure) }
}

function attributesOfLearned(more: ActivityDetails): Attributes {
  const { agent, taskId, contextId, state, status, inputTokens, outputTokens, finish } = more
  return defined({
    'gen_ai.agent.name': agent,
    'a2a.task.id': taskId,
    'gen_ai.conversation.id': contextId,
    'a2a.task.state': state,
    'http.response.status_code': status,
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.response.finish_reasons': finish === undefined ? undefined : [finish],
  })
}

function isCallerError(failure: unknown): boolean {
  return failure instanceof A2AError && !serverErrors.includes(failure.code)
}
