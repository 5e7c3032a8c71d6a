import { isStepCount, Output, ToolLoopAgent, tool } from 'ai'
import { describe } from 'vitest'
import { z } from 'zod'
import { aiSdk, asTool, isQuestionAsked } from '../../src/integrations/agents/ai-sdk.ts'
import { createScriptedModel } from './ai-sdk-model.ts'
import { type ModelRequests, testFrameworkAdapter } from './framework-adapter.ts'
import { testRemoteTool } from './remote-tool.ts'

describe('adapter for the AI SDK', () => {
  testFrameworkAdapter({
    yes: 'yes',
    no: { approved: false, reason: 'too much' },
    create(script, { reasoning = false, structured = false } = {}) {
      const requests: ModelRequests = { prompts: [], aborted: 0 }
      const payments: number[] = []
      const assistant = new ToolLoopAgent({
        model: createScriptedModel(script, requests),
        maxRetries: 0,
        onError: () => {},
        tools: {
          weather: tool({
            description: 'The weather of a city',
            inputSchema: z.object({ city: z.string() }),
            execute: ({ city }) => `Sunny in ${city}`,
          }),
          pay: tool({
            description: 'Pays an amount',
            inputSchema: z.object({ amount: z.number() }),
            execute({ amount }) {
              payments.push(amount)
              return `Paid ${amount}`
            },
          }),
        },
        toolApproval: { pay: 'user-approval' },
        ...(structured && { output: Output.object({ schema: z.object({ total: z.number() }) }) }),
      })
      return { work: aiSdk(assistant, { reasoning }), requests, payments }
    },
  })
})

describe('remote agents as tools of the AI SDK', () => {
  testRemoteTool({
    async create(script, target, options) {
      const requests: ModelRequests = { prompts: [], tools: [], aborted: 0 }
      const remote = await asTool(target, options)
      const assistant = new ToolLoopAgent({
        model: createScriptedModel(script, requests),
        maxRetries: 0,
        onError: () => {},
        tools: { [options?.skill ?? 'Shop']: remote },
        stopWhen: [isStepCount(20), isQuestionAsked],
      })
      return { work: aiSdk(assistant), requests }
    },
  })
})
