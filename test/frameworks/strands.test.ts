import { Agent, type Message, Model, type StreamOptions, tool } from '@strands-agents/sdk'
import { describe } from 'vitest'
import { z } from 'zod'
import { asTool, strands } from '../../src/integrations/agents/strands.ts'
import {
  type ModelAnswer,
  type ModelRequests,
  scriptedUsage,
  testFrameworkAdapter,
} from '../contracts/framework-adapter.ts'
import { testRemoteTool } from '../contracts/remote-tool.ts'

describe('adapter for Strands Agents', () => {
  testFrameworkAdapter({
    yes: 'yes',
    no: 'no',
    create(script, { reasoning = false, structured = false } = {}) {
      const requests: ModelRequests = { prompts: [], aborted: 0 }
      const payments: number[] = []
      const answers = structured ? script.map(toStructured) : script
      const model = new ScriptedModel(answers, requests)
      const weather = tool({
        name: 'weather',
        description: 'The weather of a city',
        inputSchema: z.object({ city: z.string() }),
        callback: ({ city }) => `Sunny in ${city}`,
      })
      const pay = tool({
        name: 'pay',
        description: 'Pays an amount',
        inputSchema: z.object({ amount: z.number() }),
        callback({ amount }, context) {
          const answer = context?.interrupt({ name: 'pay', reason: `Pay ${amount}?` })
          if (answer !== 'yes') return 'declined'
          payments.push(amount)
          return `Paid ${amount}`
        },
      })
      const createAgent = () =>
        new Agent({
          id: 'assistant',
          model,
          tools: [weather, pay],
          printer: false,
          ...(structured && { structuredOutputSchema: z.object({ total: z.number() }) }),
        })
      return { work: strands(createAgent, { reasoning }), requests, payments }
    },
  })
})

describe('remote agents as tools of Strands Agents', () => {
  testRemoteTool({
    async create(script, target, options) {
      const requests: ModelRequests = { prompts: [], tools: [], aborted: 0 }
      const model = new ScriptedModel(script, requests)
      const tools = [await asTool(target, options)]
      return { work: strands(() => new Agent({ id: 'assistant', model, tools, printer: false })), requests }
    },
  })
})

/** Strands models give structured output by a tool. */
function toStructured({ text = [] }: ModelAnswer): ModelAnswer {
  return { calls: [{ id: 'output', name: 'strands_structured_output', input: JSON.parse(text.join('')) }] }
}

class ScriptedModel extends Model<{ modelId: string }> {
  readonly #script: readonly ModelAnswer[]
  readonly #requests: ModelRequests
  #next = 0

  constructor(script: readonly ModelAnswer[], requests: ModelRequests) {
    super()
    this.#script = script
    this.#requests = requests
  }

  override updateConfig(): void {}

  override getConfig() {
    return { modelId: 'scripted' }
  }

  override async *stream(messages: Message[], { cancelSignal, toolSpecs }: StreamOptions = {}) {
    this.#requests.tools?.push(JSON.stringify(toolSpecs))
    this.#requests.prompts.push(JSON.stringify(messages))
    cancelSignal?.addEventListener('abort', () => this.#requests.aborted++)
    const answer = this.#script[this.#next++] ?? { error: 'the script has ended' }
    if (answer.error !== undefined) throw new Error(answer.error)
    const { reasoning, text = [], calls = [], hangs } = answer
    yield { type: 'modelMessageStartEvent', role: 'assistant' } as never
    if (reasoning) {
      yield { type: 'modelContentBlockStartEvent' } as never
      const delta = { type: 'reasoningContentDelta', text: reasoning }
      yield { type: 'modelContentBlockDeltaEvent', delta } as never
      yield { type: 'modelContentBlockStopEvent' } as never
    }
    if (text.length > 0) yield { type: 'modelContentBlockStartEvent' } as never
    for (const each of text) {
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: each } } as never
    }
    if (hangs)
      await new Promise((_, reject) => cancelSignal?.addEventListener('abort', () => reject(cancelSignal.reason)))
    if (text.length > 0) yield { type: 'modelContentBlockStopEvent' } as never
    for (const { id, name, input } of calls) {
      yield { type: 'modelContentBlockStartEvent', start: { type: 'toolUseStart', name, toolUseId: id } } as never
      const delta = { type: 'toolUseInputDelta', input: JSON.stringify(input) }
      yield { type: 'modelContentBlockDeltaEvent', delta } as never
      yield { type: 'modelContentBlockStopEvent' } as never
    }
    yield { type: 'modelMessageStopEvent', stopReason: calls.length > 0 ? 'toolUse' : 'endTurn' } as never
    const { inputTokens, outputTokens } = scriptedUsage
    const usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
    yield { type: 'modelMetadataEvent', usage } as never
  }
}
