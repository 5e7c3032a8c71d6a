import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { describe } from 'vitest'
import { z } from 'zod'
import { asTool, mastra } from '../../src/integrations/agents/mastra.ts'
import { createScriptedModel } from '../contracts/ai-sdk-model.ts'
import { type ModelRequests, testFrameworkAdapter } from '../contracts/framework-adapter.ts'
import { testRemoteTool } from '../contracts/remote-tool.ts'

describe('adapter for Mastra', () => {
  testFrameworkAdapter({
    yes: { approved: true },
    no: { approved: false },
    create(script, { reasoning = false, structured = false } = {}) {
      const requests: ModelRequests = { prompts: [], aborted: 0 }
      const payments: number[] = []
      const weather = createTool({
        id: 'weather',
        description: 'The weather of a city',
        inputSchema: z.object({ city: z.string() }),
        execute: async ({ city }) => `Sunny in ${city}`,
      })
      const pay = createTool({
        id: 'pay',
        description: 'Pays an amount',
        inputSchema: z.object({ amount: z.number() }),
        suspendSchema: z.object({ question: z.string() }),
        resumeSchema: z.object({ approved: z.boolean() }),
        async execute({ amount }, context) {
          const { suspend, resumeData } = context.agent ?? {}
          if (!resumeData) return await suspend?.({ question: `Pay ${amount}?` })
          if (!resumeData.approved) return 'declined'
          payments.push(amount)
          return `Paid ${amount}`
        },
      })
      const assistant = new Agent({
        id: 'assistant',
        name: 'Assistant',
        instructions: 'Help.',
        model: createScriptedModel(script, requests) as never,
        tools: { weather, pay },
        maxRetries: 0,
      })
      const stream = structured ? { structuredOutput: { schema: z.object({ total: z.number() }) } } : {}
      return { work: mastra(assistant, { reasoning, stream, tools: { weather, pay } }), requests, payments }
    },
  })
})

describe('remote agents as tools of Mastra', () => {
  testRemoteTool({
    async create(script, target, options) {
      const requests: ModelRequests = { prompts: [], tools: [], aborted: 0 }
      const tools = { [options?.skill ?? 'Shop']: await asTool(target, options) }
      const model = createScriptedModel(script, requests) as never
      const assistant = new Agent({
        id: 'assistant',
        name: 'Assistant',
        instructions: 'Help.',
        model,
        tools,
        maxRetries: 0,
      })
      return { work: mastra(assistant), requests }
    },
  })
})
