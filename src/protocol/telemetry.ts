import type { Trace } from '../base/trace-context.ts'
import type { TaskState } from './model.ts'
import type { Operation } from './service.ts'
import type { Phase } from './states.ts'

/** What is done. */
export type Activity =
  /** An operation of A2A, for a caller or, as a client, of another agent. */
  | ({ readonly type: 'operation'; readonly side: 'server' | 'client'; readonly operation: Operation } & OfAgent)
  /** An agent answers a message. */
  | ({ readonly type: 'turn'; readonly attempt: number } & OfAgent & OfTask)
  /** A model is asked. */
  | { readonly type: 'model'; readonly provider: string; readonly model: string }
  | { readonly type: 'tool'; readonly tool: string; readonly callId: string; readonly description?: string }
  /** Another agent is asked. */
  | ({ readonly type: 'call' } & OfAgent & OfTask)
  /** A webhook is told an event. */
  | ({
      readonly type: 'delivery'
      readonly host: string
      readonly generation: number
      readonly attempt: number
    } & OfTask)
  /** An event is stored. */
  | ({ readonly type: 'event'; readonly event: 'status' | 'artifact' | 'reply'; readonly state?: TaskState } & OfTask)
  /** A method of a mesh agent is called. */
  | { readonly type: 'mesh'; readonly side: 'server' | 'client'; readonly method: string; readonly peer: string }

export interface Learned {
  /** What an agent that is asked calls itself. */
  readonly agent?: string
  readonly taskId?: string
  readonly contextId?: string
  /** How a task stands. */
  readonly state?: Phase
  /** Of HTTP. */
  readonly status?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** Why a model stopped. */
  readonly finish?: string
  /** It was told one more event. */
  readonly event?: 'task' | 'message' | 'status' | 'artifact'
}

/** Something under way. */
export interface Span {
  /** Where it is in its trace, for those who are asked for help meanwhile; undefined if it is in none. */
  readonly trace: Trace | undefined
  /** Does a part of the work, so that what watches by itself takes it for one. */
  run<T>(work: () => T): T
  /** What is known only now. */
  learn(more: Learned): void
  /** It is over, and has failed if there is a failure. What comes after the first time is of no account. */
  end(failure?: unknown): void
}

export type Fact =
  /** A task was taken over whose process is gone; its lease was lost to another one; leases could not be renewed. */
  | { readonly type: 'lease'; readonly what: 'recovered' | 'lost' | 'renewal-failed' }
  /** A delivery was given up; a webhook is paused, or gone. */
  | { readonly type: 'push'; readonly what: 'given-up' | 'paused' | 'gone' }

/** Who watches what is done, such as OpenTelemetry. Handed in; where nobody watches, nothing is done for it. */
export interface Telemetry {
  /** Something begins, as a part of that trace, or of whatever is at work. Never throws. */
  begin(activity: Activity, under: Trace | undefined): Span
  /** Whether it wants to know of every event of a task. */
  readonly watchesEvents?: boolean
  /** Something happened that takes no time. */
  note?(fact: Fact): void
}

/** Two that watch as one. The trace is the first one's. */
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
        learn(more) {
          first.learn(more)
          second.learn(more)
        },
        end(failure) {
          first.end(failure)
          second.end(failure)
        },
      }
    },
    note(fact) {
      one.note?.(fact)
      other.note?.(fact)
    },
  }
}

/** Does a piece of work while somebody watches. */
export function observe<T>(
  telemetry: Telemetry | undefined,
  activity: Activity,
  under: Trace | undefined,
  work: (span?: Span) => Promise<T>,
): Promise<T> {
  return telemetry ? observed(telemetry, activity, under, work) : work()
}

/** Each step of a stream as a part of the span. The stream of one that is left has ended well. */
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
  readonly agent: string
}

interface OfTask {
  readonly taskId: string
  readonly contextId: string
}

async function observed<T>(
  telemetry: Telemetry,
  activity: Activity,
  under: Trace | undefined,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = telemetry.begin(activity, under)
  try {
    const given = await span.run(() => work(span))
    span.end()
    return given
  } catch (error) {
    span.end(error)
    throw error
  }
}
