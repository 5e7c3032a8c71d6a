import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { z } from 'zod'
import { agent } from '../../../../src/core/node/local-agent.node.ts'
import { createAgentLoop } from '../../../../src/loop/agent-loop.ts'
import { clientTool } from '../../../../src/loop/tools/tool.ts'
import { textReply, toolCalls } from '../../../support/models/scripted-model.ts'

const locate = clientTool({
  name: 'locate',
  description: 'Where the user is.',
  input: z.object({ precise: z.boolean(), reason: z.string() }),
  output: z.object({
    city: z.string().min(2).describe('The city, without the country.'),
    floor: z.number().int().optional(),
  }),
  prompt: 'Where is the technician?',
})

const measure = clientTool({
  name: 'measure',
  description: 'Reads a gauge.',
  input: z.object({ gauge: z.string(), limits: z.object({ low: z.number(), high: z.number() }) }),
  prompt: 'Please read the **pressure gauge**.',
})

const unlock = clientTool({
  name: 'unlock',
  description: 'Asks for the code of a lock.',
  input: z.object({}),
  sensitive: true,
})

const calls: Readonly<Record<string, string>> = {
  locate: '{"precise":true,"reason":"route planning"}',
  measure: '{"gauge":"boiler 2","limits":{"low":1.2,"high":3.5}}',
  unlock: '{}',
}

/** An agent whose tools the caller runs. The message names the tool, and the agent answers with what it received. */
export function createDispatcher() {
  const model = new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      const last = prompt.at(-1)
      const [result] = last?.role === 'tool' ? last.content : []
      const output = result && 'output' in result ? result.output : undefined
      const text = JSON.stringify(last?.content)
      const name = Object.keys(calls).find((tool) => text.includes(tool)) ?? 'locate'
      const isAnswered = output?.type === 'text' || output?.type === 'error-text'
      const chunks = isAnswered
        ? textReply(`Received ${output.type}: ${output.value}`)
        : toolCalls([name, calls[name] ?? '{}'])
      return { stream: simulateReadableStream({ chunks, chunkDelayInMs: null }) }
    },
  })
  return agent(
    { name: 'Dispatcher', description: 'Sends technicians, and asks them to measure.', recovery: 'resume' },
    createAgentLoop({ model, tools: [locate, measure, unlock] }),
  )
}
