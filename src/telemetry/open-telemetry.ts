import {
  type Context,
  context,
  createTraceState,
  isSpanContextValid,
  type Span as OtelSpan,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { A2AError } from '../protocol/errors.ts'
import type { Activity, Learned, Span, Telemetry } from '../protocol/telemetry.ts'
import { spanIdOf, type Trace, traceFlagsOf, traceIdOf } from '../protocol/trace.ts'
import { attributesOf, describe, learnedAttributes } from './conventions.ts'

export interface OpenTelemetryOptions {
  /** The one of the global provider by default, whenever that is set. */
  readonly tracer?: Tracer
  /** Whether every event of a task is a span of its own, from when it is told until it is stored. */
  readonly events?: boolean
}

/** Spans for what agents do, by the draft conventions for generative AI. Without an SDK, traces are only passed on. */
export function openTelemetry({ tracer, events = false }: OpenTelemetryOptions = {}): Telemetry {
  return {
    watchesEvents: events,
    begin(activity, under) {
      const { name, kind } = describe(activity)
      const parent = contextOf(activity, under)
      const used = tracer ?? trace.getTracer('parley-a2a')
      const span = used.startSpan(name, { kind, attributes: attributesOf(activity) }, parent)
      return new OpenSpan(span, parent, activity, under)
    },
  }
}

class OpenSpan implements Span {
  readonly trace: Trace | undefined
  readonly #span: OtelSpan
  readonly #context: Context
  readonly #activity: Activity
  #isOver = false

  constructor(span: OtelSpan, parent: Context, activity: Activity, under: Trace | undefined) {
    this.#span = span
    this.#context = trace.setSpan(parent, span)
    this.#activity = activity
    this.trace = traceOf(span) ?? under
  }

  run<T>(work: () => T): T {
    return context.with(this.#context, work)
  }

  learn(more: Learned): void {
    // There may be thousands of chunks, and they tell nothing of the task.
    if (this.#isOver || more.event === 'artifact') return
    this.#span.setAttributes(learnedAttributes(more))
    if (more.agent !== undefined) this.#span.updateName(`invoke_agent ${more.agent}`)
  }

  end(failure?: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    if (failure !== undefined) this.#fail(failure)
    this.#span.end()
  }

  #fail(failure: unknown): void {
    const { type, message } = told(failure)
    this.#span.setAttribute('error.type', type)
    // What a caller did wrong is no error of the server's.
    if (this.#activity.type === 'operation' && this.#activity.side === 'server' && isCallers(failure)) return
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message })
    this.#span.recordException({ name: type, message })
  }
}

/** What turns do: what of a turn is at work knows better where it stands. */
const withinTurns: readonly Activity['type'][] = ['model', 'tool', 'call']

/** Below what is told, or else below what is at work. */
function contextOf({ type }: Activity, under: Trace | undefined): Context {
  const active = context.active()
  if (!under) return active
  const spanId = spanIdOf(under)
  const current = trace.getSpanContext(active)
  if (current?.spanId === spanId) return active
  if (withinTurns.includes(type) && current?.traceId === traceIdOf(under)) return active
  const { tracestate } = under
  return trace.setSpanContext(active, {
    traceId: traceIdOf(under),
    spanId,
    traceFlags: traceFlagsOf(under),
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  })
}

function traceOf(span: OtelSpan): Trace | undefined {
  const told = span.spanContext()
  if (!isSpanContextValid(told)) return undefined
  const flags = told.traceFlags.toString(16).padStart(2, '0')
  const tracestate = told.traceState?.serialize()
  return { traceparent: `00-${told.traceId}-${told.spanId}-${flags}`, ...(tracestate ? { tracestate } : {}) }
}

/** Not the stack, nor the cause: they may show what nobody has looked through. */
function told(failure: unknown): { readonly type: string; readonly message: string } {
  if (failure instanceof A2AError) return { type: failure.code, message: failure.message }
  const { name, message } = (typeof failure === 'object' && failure !== null ? failure : {}) as Partial<Error>
  return { type: name ?? typeof failure, message: message ?? String(failure) }
}

const serverFaults: readonly string[] = ['internal', 'unavailable', 'timeout', 'tool-failed', 'invalid-agent-response']

function isCallers(failure: unknown): boolean {
  return failure instanceof A2AError && !serverFaults.includes(failure.code)
}
