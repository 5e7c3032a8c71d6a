import { Agent, tool } from '@strands-agents/sdk'
import { OpenAIModel } from '@strands-agents/sdk/models/openai'
import { agent, serve } from 'parley-a2a'
import { strands } from 'parley-a2a/strands'
import { z } from 'zod'
import { openModel } from '../model.js'

const { baseURL, apiKey, model } = await openModel()
const book = tool({
  name: 'book',
  description: 'Books a flight to a city.',
  inputSchema: z.object({ city: z.string() }),
  callback({ city }, context) {
    const answer = context.interrupt({ name: 'book', reason: `Book a flight to ${city}? Answer yes or no.` })
    return answer === 'yes' ? `Booked a flight to ${city}` : 'The caller does not want it.'
  },
})

const createAssistant = () =>
  new Agent({
    id: 'desk',
    model: new OpenAIModel({ api: 'chat', modelId: model, apiKey, clientConfig: { baseURL } }),
    tools: [book],
    printer: false,
  })
const server = await serve(agent({ name: 'Travel desk' }, strands(createAssistant)))
console.log(server.url)
