import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Turn } from '../agent/turn.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Asked } from './ask-model.ts'
import type { ToolCall } from './model-step.ts'

/** For whoever watches the turn: a model that is asked. */
export function watchedModel(model: LanguageModelV4, turn: Turn, ask: () => Promise<Asked>): Promise<Asked> {
  return turn.observe({ type: 'model', provider: model.provider, model: model.modelId }, async (span) => {
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
export function watchedTool({ toolName, toolCallId }: ToolCall, turn: Turn, act: () => unknown): Promise<unknown> {
  return turn.observe({ type: 'tool', tool: toolName, callId: toolCallId }, async (span) => {
    try {
      return await act()
    } catch (error) {
      span?.end(new A2AError('tool-failed', 'The tool failed.'))
      throw error
    }
  })
}
