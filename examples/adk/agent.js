import { BaseLlm, FunctionTool, LlmAgent } from '@google/adk'
import { agent, serve } from 'parley-a2a'
import { adk } from 'parley-a2a/adk'
import { z } from 'zod'
import { complete, openModel } from '../model.js'

const endpoint = await openModel()
const parameters = z.object({ city: z.string() })
const book = new FunctionTool({
  name: 'book',
  description: 'Books a flight to a city.',
  parameters,
  requireConfirmation: true,
  execute: ({ city }) => `Booked a flight to ${city}`,
})
const tools = [{ name: book.name, description: book.description, parameters: z.toJSONSchema(parameters) }]

/** ADK brings models of Google; this one is for any OpenAI-compatible endpoint. */
class ChatModel extends BaseLlm {
  async *generateContentAsync({ contents }, _stream, signal) {
    const answer = await complete(endpoint, contents.flatMap(toWire), tools, signal)
    const calls = answer.calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: input } }))
    yield {
      content: { role: 'model', parts: [...(answer.text ? [{ text: answer.text }] : []), ...calls] },
      usageMetadata: { promptTokenCount: answer.inputTokens, candidatesTokenCount: answer.outputTokens },
    }
  }

  connect() {
    throw new Error('This model has no live connections.')
  }
}

function toWire({ role, parts = [] }) {
  return parts.map(({ text, functionCall, functionResponse }) => {
    if (functionResponse) {
      return { role: 'tool', tool_call_id: functionResponse.id, content: JSON.stringify(functionResponse.response) }
    }
    if (!functionCall) return { role: role === 'model' ? 'assistant' : 'user', content: text ?? '' }
    const call = { name: functionCall.name, arguments: JSON.stringify(functionCall.args) }
    return { role: 'assistant', content: null, tool_calls: [{ id: functionCall.id, type: 'function', function: call }] }
  })
}

const assistant = new LlmAgent({ name: 'desk', model: new ChatModel({ model: endpoint.model }), tools: [book] })
const server = await serve(agent({ name: 'Travel desk' }, adk(assistant)))
console.log(server.url)
