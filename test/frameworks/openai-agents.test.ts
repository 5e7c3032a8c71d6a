import { Agent, type Model, type ModelRequest, tool, Usage } from '@openai/agents'
import { describe } from 'vitest'
import { z } from 'zod'
import { asTool, openaiAgents } from '../../src/integrations/agents/openai-agents.ts'
import {
  type ModelAnswer,
  type ModelRequests,
  scriptedUsage,
  testFrameworkAdapter,
} from '../contracts/framework-adapter.ts'
import { testRemoteTool } from '../contracts/remote-tool.ts'

describe('adapter for the OpenAI Agents SDK', () => {
  testFrameworkAdapter({
    yes: 'yes',
    no: 'no',
    create(script, { reasoning = false, structured = false } = {}) {
      const requests: ModelRequests = { prompts: [], aborted: 0 }
      const payments: number[] = []
      const assistant = new Agent({
        name: 'Assistant',
        model: createScriptedModel(script, requests),
        tools: [
          tool({
            name: 'weather',
            description: 'The weather of a city',
            parameters: z.object({ city: z.string() }),
            execute: ({ city }) => `Sunny in ${city}`,
          }),
          tool({
            name: 'pay',
            description: 'Pays an amount',
            parameters: z.object({ amount: z.number() }),
            needsApproval: true,
            execute({ amount }) {
              payments.push(amount)
              return `Paid ${amount}`
            },
          }),
        ],
        ...(structured && { outputType: z.object({ total: z.number() }) }),
      })
      return { work: openaiAgents(assistant, { reasoning }), requests, payments }
    },
  })
})

describe('remote agents as tools of the OpenAI Agents SDK', () => {
  testRemoteTool({
    without: ['progress'],
    async create(script, target, options) {
      const requests: ModelRequests = { prompts: [], tools: [], aborted: 0 }
      const tools = [await asTool(target, options)]
      const assistant = new Agent({ name: 'Assistant', model: createScriptedModel(script, requests), tools })
      return { work: openaiAgents(assistant), requests }
    },
  })
})

function createScriptedModel(script: readonly ModelAnswer[], requests: ModelRequests): Model {
  let next = 0
  return {
    async getResponse() {
      throw new Error('only streams are scripted')
    },
    async *getStreamedResponse({ input, signal, tools }: ModelRequest) {
      requests.tools?.push(JSON.stringify(tools))
      requests.prompts.push(JSON.stringify(input))
      signal?.addEventListener('abort', () => requests.aborted++)
      const { error, reasoning, text = [], calls = [], hangs } = script[next++] ?? { error: 'the script has ended' }
      if (error !== undefined) throw new Error(error)
      yield { type: 'response_started' } as never
      for (const delta of text) yield { type: 'output_text_delta', delta } as never
      if (hangs) await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
      const { inputTokens, outputTokens } = scriptedUsage
      const content = [{ type: 'output_text', text: text.join('') }]
      yield {
        type: 'response_done',
        response: {
          id: crypto.randomUUID(),
          usage: new Usage({
            inputTokens,
            outputTokens,
            totalTokens: inputTokens + outputTokens,
            requests: 1,
          } as never),
          output: [
            ...(reasoning ? [{ type: 'reasoning', id: 'r', content: [{ type: 'input_text', text: reasoning }] }] : []),
            ...(text.length > 0 ? [{ type: 'message', id: 'm', role: 'assistant', status: 'completed', content }] : []),
            ...calls.map(({ id, name, input }) => ({
              type: 'function_call',
              callId: id,
              name,
              arguments: JSON.stringify(input),
              status: 'completed',
            })),
          ],
        },
      } as never
    },
  }
}
