import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, type BaseMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'

/** The model that `.env` names, or a scripted one. */
export function createModel(): BaseChatModel {
  const { MODEL_NAME, MODEL_URL = 'http://localhost:11434/v1', MODEL_KEY = 'none' } = process.env
  if (!MODEL_NAME) return new ScriptedModel({})
  return new ChatOpenAI({ model: MODEL_NAME, apiKey: MODEL_KEY, configuration: { baseURL: MODEL_URL } })
}

/** Requests a payment, then says how it went. It plays a model until there is a real one. */
class ScriptedModel extends BaseChatModel {
  override _llmType(): string {
    return 'scripted'
  }

  override bindTools() {
    return this
  }

  override async _generate(messages: BaseMessage[]) {
    const last = messages.at(-1)
    const message =
      last?.getType() === 'tool'
        ? new AIMessage(`${last.content}.`)
        : new AIMessage({ content: '', tool_calls: [{ id: '1', name: 'pay', args: { amount: 120 } }] })
    return { generations: [{ text: String(message.content), message }] }
  }
}
