import { spanIdOf, type Trace, traceIdOf } from '../../base/trace-context.ts'
import type { TaskEvent } from '../../protocol/events.ts'
import type { Span, Telemetry } from '../../protocol/telemetry.ts'
import type { NewTask } from '../../tasks/log.ts'
import type { PlannedTurn } from '../recovery/resume.ts'
import { type Emission, Writer, type WriterOptions, type WriterOwner } from './writer.ts'

export interface TracedTurn {
  readonly task: NewTask
  /** The name of the agent. */
  readonly agent: string
  readonly planned: PlannedTurn
}

export function beginTurnSpan(telemetry: Telemetry, { task, agent, planned }: TracedTurn): Span {
  const { taskId, contextId } = task
  const { attempt, message } = planned
  return telemetry.begin({ type: 'turn', agent, taskId, contextId, attempt }, message.event.trace)
}

/** Runs a turn, and ends its span with the state of the task. */
export async function runInSpan<T>(span: Span, writer: Pick<Writer, 'phase'>, run: () => Promise<T>): Promise<T> {
  try {
    const result = await run()
    span.addDetails({ state: writer.phase })
    return result
  } finally {
    span.end()
  }
}

export interface EventTelemetry {
  readonly telemetry: Telemetry
  readonly task: NewTask
  readonly currentTrace: () => Trace | undefined
}

/** A writer that reports every event as a span, from its emission until it is stored. */
export class TracedWriter extends Writer {
  readonly #eventTelemetry: EventTelemetry

  constructor(options: WriterOptions, owner: WriterOwner, eventTelemetry: EventTelemetry) {
    super(options, owner)
    this.#eventTelemetry = eventTelemetry
  }

  override post(event: TaskEvent): Emission {
    const { type } = event
    if (type !== 'status' && type !== 'artifact' && type !== 'reply') return super.post(event)
    const { telemetry, task, currentTrace } = this.#eventTelemetry
    const { taskId, contextId } = task
    const state = type === 'status' ? { state: event.status.state } : {}
    const span = telemetry.begin({ type: 'event', event: type, taskId, contextId, ...state }, currentTrace())
    const emission = super.post(event)
    emission.stored().then(
      () => span.end(),
      (error) => span.end(error),
    )
    return emission
  }
}

/** Adds the position in the trace to the metadata of an event. */
export function withTraceMetadata(event: TaskEvent, trace: Trace): TaskEvent {
  if (event.type !== 'status' && event.type !== 'artifact') return event
  return { ...event, metadata: { ...event.metadata, traceId: traceIdOf(trace), spanId: spanIdOf(trace) } }
}
