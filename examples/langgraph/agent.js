import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { interrupt } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { agent, serve } from 'parley-a2a'
import { langgraph } from 'parley-a2a/langgraph'
import { z } from 'zod'
import { complete, openModel } from '../model.js'

const endpoint = await openModel()
const book = tool(
  ({ city }) => {
    const answer = interrupt({ question: `Book a flight to ${city}? Answer yes or no.` })
    return answer === 'yes' ? `Booked a flight to ${city}` : 'The caller does not want it.'
  },
  { name: 'book', description: 'Books a flight to a city.', schema: z.object({ city: z.string() }) },
)

/** `ChatOpenAI` of `@langchain/openai` does the same, and streams. */
class ChatModel extends BaseChatModel {
  #tools = []

  _llmType() {
    return 'openai-compatible'
  }

  bindTools(tools) {
    this.#tools = tools.map(({ name, description, schema }) => ({
      name,
      description,
      parameters: z.toJSONSchema(schema),
    }))
    return this
  }

  async _generate(messages, { signal }) {
    const { text, calls, inputTokens, outputTokens } = await complete(
      endpoint,
      messages.map(toWire),
      this.#tools,
      signal,
    )
    const usage_metadata = {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    }
    const tool_calls = calls.map(({ id, name, input }) => ({ id, name, args: input, type: 'tool_call' }))
    return { generations: [{ text, message: new AIMessage({ content: text, tool_calls, usage_metadata }) }] }
  }
}

function toWire(message) {
  const { content, tool_calls: calls = [], tool_call_id } = message
  if (message.getType() === 'tool') return { role: 'tool', content, tool_call_id }
  if (message.getType() !== 'ai') return { role: message.getType() === 'system' ? 'system' : 'user', content }
  if (calls.length === 0) return { role: 'assistant', content }
  const tool_calls = calls.map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }))
  return { role: 'assistant', content, tool_calls }
}

const graph = createReactAgent({ llm: new ChatModel({}), tools: [book] })
const server = await serve(agent({ name: 'Travel desk' }, langgraph(graph)))
console.log(server.url)
