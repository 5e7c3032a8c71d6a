import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'

type Part = LanguageModelV4StreamPart

const usage = {
  inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: undefined, reasoning: undefined },
}
export const finish = (unified: 'stop' | 'tool-calls'): Part => ({
  type: 'finish',
  usage,
  finishReason: { unified, raw: undefined },
})
export const textReply = (...deltas: string[]): Part[] => [
  ...deltas.map((delta): Part => ({ type: 'text-delta', id: '1', delta })),
  finish('stop'),
]
export const toolCalls = (...calls: [name: string, input: string][]): Part[] => [
  ...calls.map(
    ([toolName, input], index): Part => ({ type: 'tool-call', toolCallId: `call-${index}`, toolName, input }),
  ),
  finish('tool-calls'),
]

/** A model that returns one step per call, and repeats the last one. */
export function scriptedModel(...steps: Part[][]) {
  let calls = 0
  return new MockLanguageModelV4({
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: steps[Math.min(calls++, steps.length - 1)] ?? [],
        chunkDelayInMs: null,
      }),
    }),
  })
}

/** The tool results in the last prompt of the model. */
export function lastToolResults(model: MockLanguageModelV4): unknown {
  const last = model.doStreamCalls.at(-1)?.prompt.at(-1)
  return last?.role === 'tool' ? last.content.map((part) => ('output' in part ? part.output : part)) : last
}
