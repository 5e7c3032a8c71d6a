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
export const toolCalls = (...made: [name: string, input: string][]): Part[] => [
  ...made.map(([toolName, input], at): Part => ({ type: 'tool-call', toolCallId: `call-${at}`, toolName, input })),
  finish('tool-calls'),
]

/** A model that says one after the other, and the last again and again. */
export function scriptedModel(...steps: Part[][]) {
  let at = 0
  return new MockLanguageModelV4({
    doStream: async () => ({
      stream: simulateReadableStream({ chunks: steps[Math.min(at++, steps.length - 1)] ?? [], chunkDelayInMs: null }),
    }),
  })
}

/** What the model was told last of the tools that it called. */
export function lastToolResults(asked: MockLanguageModelV4): unknown {
  const last = asked.doStreamCalls.at(-1)?.prompt.at(-1)
  return last?.role === 'tool' ? last.content.map((part) => ('output' in part ? part.output : part)) : last
}
