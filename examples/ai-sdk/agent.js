import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { ToolLoopAgent, tool } from 'ai'
import { agent, serve } from 'parley-a2a'
import { aiSdk } from 'parley-a2a/ai-sdk'
import { z } from 'zod'
import { openModel } from '../model.js'

const { baseURL, apiKey, model } = await openModel()
const book = tool({
  description: 'Books a flight to a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Booked a flight to ${city}`,
})

const assistant = new ToolLoopAgent({
  model: createOpenAICompatible({ name: 'provider', baseURL, apiKey })(model),
  tools: { book },
  toolApproval: { book: 'user-approval' },
})
const server = await serve(agent({ name: 'Travel desk' }, aiSdk(assistant)))
console.log(server.url)
