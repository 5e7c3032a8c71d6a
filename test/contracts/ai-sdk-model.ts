import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { type ModelAnswer, type ModelRequests, scriptedUsage } from './framework-adapter.ts'

/** A model of the AI SDK that gives the answers of a script. Mastra takes such models, too. */
export function createScriptedModel(script: readonly ModelAnswer[], requests: ModelRequests) {
  let next = 0
  return new MockLanguageModelV4({
    async doStream({ prompt, abortSignal, tools }) {
      requests.tools?.push(JSON.stringify(tools))
      requests.prompts.push(JSON.stringify(prompt))
      abortSignal?.addEventListener('abort', () => requests.aborted++)
      const answer = script[next++] ?? { error: 'the script has ended' }
      if (answer.error !== undefined) throw new Error(answer.error)
      const { inputTokens, outputTokens } = scriptedUsage
      const { reasoning, text = [], calls = [] } = answer
      const chunks = [
        { type: 'stream-start', warnings: [] },
        ...(reasoning
          ? [
              { type: 'reasoning-start', id: 'r' },
              { type: 'reasoning-delta', id: 'r', delta: reasoning },
              { type: 'reasoning-end', id: 'r' },
            ]
          : []),
        ...(text.length > 0 ? [{ type: 'text-start', id: 't' }] : []),
        ...text.map((delta) => ({ type: 'text-delta', id: 't', delta })),
        ...(text.length > 0 && !answer.hangs ? [{ type: 'text-end', id: 't' }] : []),
        ...calls.map(({ id, name, input }) => ({
          type: 'tool-call',
          toolCallId: id,
          toolName: name,
          input: JSON.stringify(input),
        })),
        {
          type: 'finish',
          finishReason: { unified: calls.length > 0 ? 'tool-calls' : 'stop', raw: '' },
          usage: {
            inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
            outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
          },
        },
      ]
      if (!answer.hangs) return { stream: simulateReadableStream({ chunks: chunks as never[] }) }
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const chunk of chunks.slice(0, -1)) controller.enqueue(chunk as never)
            abortSignal?.addEventListener('abort', () => controller.error(abortSignal.reason))
          },
        }),
      }
    },
  })
}
