import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4File,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { A2AError } from '../protocol/errors.ts'
import { watchSilence } from './watch-silence.ts'

/** What a model has said in one go. It is JSON, so that it can be stored. */
export interface ModelStep {
  readonly said: Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly inputTokens: number
  readonly outputTokens: number
  readonly finish: string
}

export interface ToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: string
  readonly providerOptions?: SharedV4ProviderMetadata
}

export interface ModelListener {
  readonly onText: (delta: string) => void
  readonly onReasoning: (text: string) => void
  readonly onFile: (file: LanguageModelV4File) => void
}

export interface StepLimits {
  /** Milliseconds without a word. */
  readonly silence: number
  /** Characters that may still be said. */
  readonly length: number
}

/** Asks the model once, and tells what it says while it says it. */
export async function takeStep(
  model: LanguageModelV4,
  { abortSignal: signal, ...options }: LanguageModelV4CallOptions & { readonly abortSignal: AbortSignal },
  listener: ModelListener,
  limits: StepLimits,
): Promise<ModelStep> {
  const collected = createCollector(listener, limits.length)
  const watch = watchSilence(signal, limits.silence)
  try {
    const { stream } = await watch.orCut(model.doStream({ ...options, abortSignal: watch.signal }))
    const reader = stream.getReader()
    // Also of a model that does not listen to its signal.
    watch.onCut(() => void reader.cancel('cut').catch(() => {}))
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      watch.heard()
      try {
        collected.take(value)
      } catch (error) {
        void reader.cancel('broken').catch(() => {})
        throw error
      }
    }
    watch.throwIfCut()
    return collected.step()
  } finally {
    watch.close()
  }
}

function createCollector({ onText, onReasoning, onFile }: ModelListener, length: number) {
  const calls: ToolCall[] = []
  const reasonings: { text: string; about: SharedV4ProviderMetadata | undefined }[] = []
  let text = ''
  let room = length
  let reasoning = ''
  let usage: LanguageModelV4Usage | undefined
  let finish: string | undefined

  function grow(delta: string): void {
    room -= delta.length
    if (room < 0) throw new A2AError('internal', 'The model said more than it may, and did not stop.')
  }

  function endReasoning(about?: SharedV4ProviderMetadata): void {
    if (reasoning === '' && !about) return
    if (reasoning !== '') onReasoning(reasoning)
    reasonings.push({ text: reasoning, about })
    reasoning = ''
  }

  return {
    take(part: LanguageModelV4StreamPart): void {
      switch (part.type) {
        case 'text-delta':
          if (part.delta === '') break
          grow(part.delta)
          text += part.delta
          onText(part.delta)
          break
        case 'reasoning-delta':
          grow(part.delta)
          reasoning += part.delta
          break
        case 'reasoning-end':
          endReasoning(part.providerMetadata)
          break
        case 'tool-call': {
          if (part.providerExecuted) break
          grow(part.input)
          const { toolName, input, providerMetadata } = part
          const about = providerMetadata && { providerOptions: providerMetadata }
          calls.push({ toolCallId: distinct(part.toolCallId, calls), toolName, input, ...about })
          break
        }
        case 'file':
          onFile(part)
          break
        case 'finish':
          usage = part.usage
          finish = part.finishReason.unified
          break
        case 'error':
          throw part.error
      }
    },
    step(): ModelStep {
      endReasoning()
      if (finish === undefined) throw new Error('the stream of the model ended before its end')
      const said: ModelStep['said'] = reasonings.map((each) => ({
        type: 'reasoning',
        text: each.text,
        ...(each.about && { providerOptions: each.about }),
      }))
      if (text !== '') said.push({ type: 'text', text })
      for (const { input, ...call } of calls) said.push({ type: 'tool-call', ...call, input: parsed(input) })
      const inputTokens = usage?.inputTokens.total ?? 0
      const outputTokens = usage?.outputTokens.total ?? 0
      return { said, text, calls, inputTokens, outputTokens, finish }
    },
  }
}

/** Results are found by these ids; not every model gives each call one of its own. */
function distinct(id: string, calls: readonly ToolCall[]): string {
  const isTaken = id === '' || calls.some(({ toolCallId }) => toolCallId === id)
  return isTaken ? `${id || 'call'}-${calls.length + 1}` : id
}

/** Providers want an object, also of a call that was none. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input === '' ? '{}' : input)
  } catch {
    return {}
  }
}
