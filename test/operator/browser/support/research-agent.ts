import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { z } from 'zod'
import { agent } from '../../../../src/core/node/local-agent.node.ts'
import { createAgentLoop } from '../../../../src/loop/agent-loop.ts'
import { remoteAgent } from '../../../../src/loop/tools/remote-agent.ts'
import { localTool } from '../../../../src/loop/tools/tool.ts'
import { textReply, toolCalls } from '../../../support/models/scripted-model.ts'

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

const search = localTool({
  name: 'search',
  description: 'Searches the archive.',
  input: z.object({ query: z.string(), limit: z.number() }),
  run: async ({ query, limit }) => {
    await pause(40)
    return { query, hits: Array.from({ length: limit }, (_, index) => ({ title: `Report ${index + 1}`, year: 2024 })) }
  },
})

const convert = localTool({
  name: 'convert',
  description: 'Converts an amount.',
  input: z.object({ amount: z.number(), currency: z.string() }),
  run: async () => {
    await pause(15)
    throw new Error('The rate service answered 503.')
  },
})

/** A loop that searches, fails to convert, calls an agent, and answers. With `toolMessages`, the caller sees its calls. */
export function createResearcher(librarian: string, toolMessages = true) {
  const steps = [
    toolCalls(['search', '{"query":"chairs","limit":3}'], ['convert', '{"amount":129.5,"currency":"CHF"}']),
    toolCalls(['librarian', '{"text":"report"}']),
    textReply('Three reports mention chairs. ', 'The price is **129.50**.'),
  ]
  const model = new MockLanguageModelV4({
    modelId: 'scholar-2',
    doStream: async ({ prompt }) => {
      await pause(25)
      const answered = prompt.filter(({ role }) => role === 'tool').length
      return { stream: simulateReadableStream({ chunks: steps[Math.min(answered, 2)] ?? [], chunkDelayInMs: null }) }
    },
  })
  return agent(
    { name: 'Researcher', description: 'Searches, and asks a librarian.' },
    createAgentLoop({
      model,
      toolMessages,
      tools: [search, convert, remoteAgent(librarian, { name: 'librarian' })],
    }),
  )
}
