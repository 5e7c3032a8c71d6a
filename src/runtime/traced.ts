import type { TaskEvent } from '../protocol/events.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import { spanIdOf, type Trace, traceIdOf } from '../protocol/trace.ts'
import type { NewTask } from '../tasks/log.ts'
import { Writer, type WriterOptions, type WriterOwner } from './writer.ts'

/** The event as it is told to those who want to know where it is in its trace. */
export function stamped(event: TaskEvent, trace: Trace): TaskEvent {
  if (event.type !== 'status' && event.type !== 'artifact') return event
  return { ...event, metadata: { ...event.metadata, traceId: traceIdOf(trace), spanId: spanIdOf(trace) } }
}

export interface Watching {
  readonly telemetry: Telemetry
  readonly task: NewTask
  readonly traceNow: () => Trace | undefined
}

/** A writer of which every event is a span, from when it is told until it is stored. */
export class WatchedWriter extends Writer {
  readonly #watching: Watching

  constructor(options: WriterOptions, owner: WriterOwner, watching: Watching) {
    super(options, owner)
    this.#watching = watching
  }

  override emit(event: TaskEvent): Promise<void> {
    const { type } = event
    if (type !== 'status' && type !== 'artifact' && type !== 'reply') return super.emit(event)
    const { telemetry, task, traceNow } = this.#watching
    const { taskId, contextId } = task
    const state = type === 'status' ? { state: event.status.state } : {}
    const span = telemetry.begin({ type: 'event', event: type, taskId, contextId, ...state }, traceNow())
    const stored = super.emit(event)
    stored.then(
      () => span.end(),
      (error) => span.end(error),
    )
    return stored
  }
}
