import { Agent, OpenAIChatCompletionsModel, tool } from '@openai/agents'
import OpenAI from 'openai'
import { agent, serve } from 'parley-a2a'
import { openaiAgents } from 'parley-a2a/openai-agents'
import { z } from 'zod'
import { openModel } from '../model.js'

const { baseURL, apiKey, model } = await openModel()
const book = tool({
  name: 'book',
  description: 'Books a flight to a city.',
  parameters: z.object({ city: z.string() }),
  needsApproval: true,
  execute: ({ city }) => `Booked a flight to ${city}`,
})

const assistant = new Agent({
  name: 'Travel desk',
  model: new OpenAIChatCompletionsModel(new OpenAI({ baseURL, apiKey }), model),
  tools: [book],
})
const server = await serve(agent({ name: 'Travel desk' }, openaiAgents(assistant)))
console.log(server.url)
