import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessageChunk, type BaseMessage } from '@langchain/core/messages'
import { ChatGenerationChunk } from '@langchain/core/outputs'
import { tool } from '@langchain/core/tools'
import { Annotation, interrupt, MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { describe } from 'vitest'
import { z } from 'zod'
import { asTool, langgraph } from '../../src/integrations/agents/langgraph.ts'
import {
  type ModelAnswer,
  type ModelRequests,
  scriptedUsage,
  testFrameworkAdapter,
} from '../contracts/framework-adapter.ts'
import { testRemoteTool } from '../contracts/remote-tool.ts'

describe('adapter for LangGraph', () => {
  testFrameworkAdapter({
    yes: { approved: true },
    no: { approved: false },
    create(script, { reasoning = false, structured = false } = {}) {
      const requests: ModelRequests = { prompts: [], aborted: 0 }
      const payments: number[] = []
      const llm = new ScriptedModel(script, requests)
      if (structured) return { work: langgraph(createStructuredGraph(llm)), requests, payments }
      const weather = tool(({ city }) => `Sunny in ${city}`, {
        name: 'weather',
        description: 'The weather of a city',
        schema: z.object({ city: z.string() }),
      })
      const pay = tool(
        ({ amount }) => {
          const responseSchema = z.object({ approved: z.boolean() })
          const { approved } = interrupt<unknown, { approved: boolean }>({ question: `Pay ${amount}?` }, {
            responseSchema,
          } as never)
          if (!approved) return 'declined'
          payments.push(amount)
          return `Paid ${amount}`
        },
        { name: 'pay', description: 'Pays an amount', schema: z.object({ amount: z.number() }) },
      )
      const graph = createReactAgent({ llm, tools: [weather, pay] })
      return { work: langgraph(graph, { reasoning }), requests, payments }
    },
  })
})

describe('remote agents as tools of LangGraph', () => {
  testRemoteTool({
    async create(script, target, options) {
      const requests: ModelRequests = { prompts: [], tools: [], aborted: 0 }
      const tools = [await asTool(target, options)]
      return { work: langgraph(createReactAgent({ llm: new ScriptedModel(script, requests), tools })), requests }
    },
  })
})

/** A graph that ends with a structured response, as `createReactAgent` with `responseFormat` does. */
function createStructuredGraph(llm: ScriptedModel) {
  const state = Annotation.Root({ ...MessagesAnnotation.spec, structuredResponse: Annotation<object> })
  return new StateGraph(state)
    .addNode('generate_structured_response', async ({ messages }) => {
      const { content } = await llm.invoke(messages)
      return { structuredResponse: JSON.parse(`${content}`) }
    })
    .addEdge('__start__', 'generate_structured_response')
    .compile()
}

class ScriptedModel extends BaseChatModel {
  readonly #script: readonly ModelAnswer[]
  readonly #requests: ModelRequests
  #next = 0

  constructor(script: readonly ModelAnswer[], requests: ModelRequests) {
    super({ maxRetries: 0 })
    this.#script = script
    this.#requests = requests
  }

  override _llmType(): string {
    return 'scripted'
  }

  override bindTools(tools: { name?: string; description?: string; schema?: unknown }[]) {
    const offered = tools.map(({ name, description, schema }) => ({ name, description, schema }))
    this.#requests.tools?.push(JSON.stringify(offered))
    return this as never
  }

  override async _generate(messages: BaseMessage[], options: this['ParsedCallOptions'], runManager?: never) {
    let all: ChatGenerationChunk | undefined
    for await (const chunk of this._streamResponseChunks(messages, options, runManager))
      all = all?.concat(chunk) ?? chunk
    return { generations: all ? [all] : [] }
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    { signal }: this['ParsedCallOptions'],
    runManager?: { handleLLMNewToken(...args: unknown[]): Promise<void> },
  ): AsyncGenerator<ChatGenerationChunk> {
    this.#requests.prompts.push(JSON.stringify(messages.map(({ content }) => content)))
    signal?.addEventListener('abort', () => this.#requests.aborted++)
    const answer = this.#script[this.#next++] ?? { error: 'the script has ended' }
    if (answer.error !== undefined) throw new Error(answer.error)
    const id = crypto.randomUUID()
    const { inputTokens, outputTokens } = scriptedUsage
    const send = async (fields: object, text = '') => {
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk({ id, content: text, ...fields }) })
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk })
      return chunk
    }
    if (answer.reasoning) yield await send({ content: [{ type: 'reasoning', reasoning: answer.reasoning }] })
    for (const text of answer.text ?? []) yield await send({}, text)
    if (answer.hangs) {
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    }
    for (const [index, { id, name, input }] of (answer.calls ?? []).entries()) {
      yield await send({
        tool_call_chunks: [{ index, id, name, args: JSON.stringify(input), type: 'tool_call_chunk' }],
      })
    }
    const usage = {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    }
    yield await send({ usage_metadata: usage })
  }
}
