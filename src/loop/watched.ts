import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Turn } from '../agent/turn.ts'
import type { Invocation } from '../agent/work.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import { observe, type Telemetry } from '../protocol/telemetry.ts'
import type { Trace } from '../protocol/trace.ts'
import type { Asked } from './ask-model.ts'
import type { ToolCall } from './model-step.ts'

/** Whoever watches what a loop does: its turn, or, if it has none, who is handed in. */
export type Watcher = Pick<Turn, 'observe' | 'trace'>

export interface LoopWatch {
  readonly telemetry: Telemetry
  /** Of the loop. */
  readonly name: string
}

type Emit = (event: StatusEvent | ArtifactEvent) => void

/** A loop without an agent, seen as an agent that answers. */
export function watchedLoop(
  { telemetry, name }: LoopWatch,
  { taskId, contextId, trace: under }: Invocation,
  emit: Emit,
  work: (watcher: Watcher, emit: Emit) => Promise<void>,
): Promise<void> {
  const activity = { type: 'turn', agent: name, taskId, contextId, attempt: 1 } as const
  return observe(telemetry, activity, under, async (span) => {
    const trace = span?.trace ?? under
    const watcher: Watcher = { trace, observe: (each, act) => observe(telemetry, each, trace, act) }
    await work(watcher, (event) => {
      if (event.type === 'status') span?.learn({ state: event.status.state })
      emit(event)
    })
  })
}

/** A model that is asked. */
export function watchedModel(model: LanguageModelV4, watcher: Watcher, ask: () => Promise<Asked>): Promise<Asked> {
  return watcher.observe({ type: 'model', provider: model.provider, model: model.modelId }, async (span) => {
    const answer = await ask()
    if ('failed' in answer) {
      span?.end(new A2AError('invalid-agent-response', answer.failed))
      return answer
    }
    const { inputTokens, outputTokens, finish } = answer
    span?.learn({ inputTokens, outputTokens, finish })
    return answer
  })
}

/** A tool that is run. What went wrong may tell what the tool was given: it is not told. */
export function watchedTool<T>(
  { toolName, toolCallId }: ToolCall,
  watcher: Watcher,
  act: (trace: Trace | undefined) => T | Promise<T>,
): Promise<T> {
  return watcher.observe({ type: 'tool', tool: toolName, callId: toolCallId }, async (span) => {
    try {
      return await act(span?.trace ?? watcher.trace)
    } catch (error) {
      span?.end(new A2AError('tool-failed', 'The tool failed.'))
      throw error
    }
  })
}
