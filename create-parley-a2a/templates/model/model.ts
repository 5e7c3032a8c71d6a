import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'

type Model = Extract<LanguageModel, { readonly specificationVersion: 'v4' }>

/** The model that `.env` names, or a scripted one. */
export function createModel(): Model {
  const { MODEL_NAME, MODEL_URL = 'http://localhost:11434/v1', MODEL_KEY } = process.env
  if (!MODEL_NAME) return scriptedModel()
  return createOpenAICompatible({ name: 'model', baseURL: MODEL_URL, apiKey: MODEL_KEY })(MODEL_NAME)
}

/** Counts chairs with the tool, then answers. It plays a model until there is a real one. */
function scriptedModel(): Model {
  const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } }
  const finish = { type: 'finish', usage, finishReason: { unified: 'stop' } }
  const request = { type: 'tool-call', toolCallId: '1', toolName: 'stock_count', input: '{"article":"chair"}' }
  const words = ['We ', 'have ', '7 ', 'chairs.'].map((delta) => ({ type: 'text-delta', id: '1', delta }))
  return new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      const hasResult = prompt.at(-1)?.role === 'tool'
      const chunks = hasResult ? [...words, finish] : [request, finish]
      return { stream: simulateReadableStream({ chunks: chunks as never }) }
    },
  })
}
