import type { TaskEvent } from '../../protocol/events.ts'
import type { Span, Telemetry } from '../../protocol/telemetry.ts'
import type { NewTask } from '../../tasks/log.ts'
import type { PlannedTurn } from '../recovery/resume.ts'
import type { Emission } from './emissions.ts'
import type { RunState } from './run-state.ts'
import { Writer, type WriterOptions } from './writer.ts'

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

/** A writer that reports every event as a span, from its emission until it is stored. */
export class TracedWriter extends Writer {
  readonly #telemetry: Telemetry
  readonly #state: RunState

  constructor(options: WriterOptions, state: RunState, telemetry: Telemetry) {
    super(options, state)
    this.#telemetry = telemetry
    this.#state = state
  }

  override post(event: TaskEvent): Emission {
    const { type } = event
    if (type !== 'status' && type !== 'artifact' && type !== 'reply') return super.post(event)
    const { task, trace } = this.#state
    const { taskId, contextId } = task
    const state = type === 'status' ? { state: event.status.state } : {}
    const span = this.#telemetry.begin({ type: 'event', event: type, taskId, contextId, ...state }, trace)
    const emission = super.post(event)
    emission.stored().then(
      () => span.end(),
      (error) => span.end(error),
    )
    return emission
  }
}
