import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { agent, serve } from 'parley-a2a'
import { mastra } from 'parley-a2a/mastra'
import { z } from 'zod'
import { openModel } from '../model.js'

const { baseURL, apiKey, model } = await openModel()
const book = createTool({
  id: 'book',
  description: 'Books a flight to a city.',
  inputSchema: z.object({ city: z.string() }),
  requireApproval: true,
  execute: async ({ city }) => `Booked a flight to ${city}`,
})

const assistant = new Agent({
  id: 'desk',
  name: 'Travel desk',
  instructions: 'Book what the caller wants.',
  model: createOpenAICompatible({ name: 'provider', baseURL, apiKey })(model),
  tools: { book },
})
const server = await serve(agent({ name: 'Travel desk' }, mastra(assistant, { tools: { book } })))
console.log(server.url)
