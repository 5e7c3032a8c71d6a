import type { Trace } from '../base/trace-context.ts'
import type { Usage } from './extensions/usage.ts'
import type { TaskState } from './model.ts'
import type { Operation } from './service.ts'
import type { Phase } from './states.ts'

/** A piece of work that telemetry observes as a span. */
export type Activity =
  /** An A2A operation: served to a caller, or called as a client of another agent. */
  | ({ readonly type: 'operation'; readonly side: 'server' | 'client'; readonly operation: Operation } & OfAgent)
  /** A turn: an agent answers a message. */
  | ({ readonly type: 'turn'; readonly attempt: number } & OfAgent & OfTask)
  /** A request to a language model. */
  | { readonly type: 'model'; readonly provider: string; readonly model: string }
  /** A tool call of a language model. */
  | { readonly type: 'tool'; readonly tool: string; readonly callId: string; readonly description?: string }
  /** A call of an agent to another agent, with all its requests. */
  | ({ readonly type: 'call' } & OfAgent & OfTask)
  /** A delivery of an event to a webhook. */
  | ({
      readonly type: 'delivery'
      readonly host: string
      readonly generation: number
      readonly attempt: number
    } & OfTask)
  /** The storing of an event. */
  | ({ readonly type: 'event'; readonly event: 'status' | 'artifact' | 'reply'; readonly state?: TaskState } & OfTask)
  /** A call of a mesh method. */
  | { readonly type: 'mesh'; readonly side: 'server' | 'client'; readonly method: string; readonly peer: string }

/** Facts about an activity that are not known at its start. */
export interface ActivityDetails {
  /** The name of a called agent, from its card. */
  readonly agent?: string
  readonly taskId?: string
  readonly contextId?: string
  /** The state of the task. */
  readonly state?: Phase
  /** The HTTP status of the response. */
  readonly status?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** Why the model stopped. */
  readonly finish?: string
  /** How many times a request failed before it succeeded or was given up. */
  readonly retries?: number
  /** The task of a called agent. */
  readonly calledTask?: string
  /** The arguments, the result, and the text of the error. Only for spans that keep content. */
  readonly input?: unknown
  readonly output?: unknown
  readonly error?: unknown
  /** The type of an event that was sent or received. */
  readonly event?: 'task' | 'message' | 'status' | 'artifact'
}

/** A started activity. */
export interface Span {
  /** The position of the span in its trace, to be sent with outgoing requests. Undefined if there is no trace. */
  readonly trace: Trace | undefined
  /** Whether arguments and results may be added as details. Spans of tracing systems never get them. */
  readonly keepsContent?: boolean
  /** Runs a part of the activity with the span as the current one, for automatic instrumentation. */
  run<T>(work: () => T): T
  /** Adds facts about the activity. */
  addDetails(more: ActivityDetails): void
  /** Ends the span, as failed if there is a failure. Only the first call counts. */
  end(failure?: unknown): void
}

/** An incident without a duration. */
export type TelemetryIncident =
  /** A task of a dead process was recovered, a lease was lost to another process, or leases could not be renewed. */
  | { readonly type: 'lease'; readonly what: 'recovered' | 'lost' | 'renewal-failed' }
  /** A turn used a model. */
  | { readonly type: 'usage'; readonly usage: Usage; readonly principal: string; readonly tenant?: string }
  /** A delivery was given up, or a webhook was paused or removed. */
  | { readonly type: 'push'; readonly what: 'given-up' | 'paused' | 'gone' }

/** An observer of activities, such as OpenTelemetry. Without one, the observed code does no extra work. */
export interface Telemetry {
  /** Starts a span within the trace `under`, or else within the current span. Never throws. */
  begin(activity: Activity, under: Trace | undefined): Span
  /** Whether to observe every event of a task. */
  readonly watchesEvents?: boolean
  /** Records an incident. */
  record?(fact: TelemetryIncident): void
}

/** Combines two observers. The trace is that of the first one. */
export function combineTelemetry(one: Telemetry | undefined, other: Telemetry | undefined): Telemetry | undefined {
  if (!one || !other) return one ?? other
  return {
    watchesEvents: one.watchesEvents === true || other.watchesEvents === true,
    begin(activity, under) {
      const first = one.begin(activity, under)
      const second = other.begin(activity, first.trace ?? under)
      return {
        trace: first.trace ?? second.trace,
        run: (work) => first.run(() => second.run(work)),
        addDetails(more) {
          first.addDetails(more)
          second.addDetails(more)
        },
        end(failure) {
          first.end(failure)
          second.end(failure)
        },
      }
    },
    record(fact) {
      one.record?.(fact)
      other.record?.(fact)
    },
  }
}

/** Runs an activity within a span, or without one if there is no telemetry. */
export function observe<T>(
  telemetry: Telemetry | undefined,
  activity: Activity,
  under: Trace | undefined,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  return telemetry ? runInSpan(telemetry.begin(activity, under), work) : work()
}

/** Runs every step of a stream within a span. A stream that its reader leaves early ends without failure. */
export async function* observeStream<T>(span: Span, open: () => AsyncGenerator<T>, onEach: (item: T) => void) {
  let events: AsyncGenerator<T> | undefined
  try {
    const opened = span.run(open)
    events = opened
    for (;;) {
      const next = await span.run(() => opened.next())
      if (next.done) break
      onEach(next.value)
      yield next.value
    }
    span.end()
  } catch (error) {
    span.end(error)
    throw error
  } finally {
    await events?.return(undefined)
    span.end()
  }
}

interface OfAgent {
  /** The name of the agent. */
  readonly agent: string
}

interface OfTask {
  readonly taskId: string
  readonly contextId: string
}

async function runInSpan<T>(span: Span, work: (span: Span) => Promise<T>): Promise<T> {
  try {
    const result = await span.run(() => work(span))
    span.end()
    return result
  } catch (error) {
    span.end(error)
    throw error
  }
}
