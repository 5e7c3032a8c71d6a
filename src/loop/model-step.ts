import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'

/** What a model has said in one go. */
export interface ModelStep {
  readonly said: Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
  readonly calls: readonly LanguageModelV4ToolCall[]
  readonly usage: LanguageModelV4Usage | undefined
  readonly finish: string | undefined
}

export interface ModelListener {
  readonly onText: (delta: string) => void
  readonly onReasoning: (text: string) => void
}

/** Asks the model once, and tells what it says while it says it. */
export async function takeStep(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  { onText, onReasoning }: ModelListener,
): Promise<ModelStep> {
  const calls: LanguageModelV4ToolCall[] = []
  let text = ''
  let reasoning = ''
  let usage: LanguageModelV4Usage | undefined
  let finish: string | undefined

  const { stream } = await model.doStream(options)
  for await (const part of stream) {
    options.abortSignal?.throwIfAborted()
    switch (part.type) {
      case 'text-delta':
        text += part.delta
        if (part.delta !== '') onText(part.delta)
        break
      case 'reasoning-delta':
        reasoning += part.delta
        break
      case 'reasoning-end':
        if (reasoning !== '') onReasoning(reasoning)
        reasoning = ''
        break
      case 'tool-call':
        if (!part.providerExecuted) calls.push(part)
        break
      case 'finish':
        usage = part.usage
        finish = part.finishReason.unified
        break
      case 'error':
        throw part.error
    }
  }
  const said: ModelStep['said'] = text === '' ? [] : [{ type: 'text', text }]
  for (const { toolCallId, toolName, input } of calls) {
    said.push({ type: 'tool-call', toolCallId, toolName, input: parsed(input) })
  }
  return { said, calls, usage, finish }
}

/** Providers want an object, also of a call that was none. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input === '' ? '{}' : input)
  } catch {
    return {}
  }
}
