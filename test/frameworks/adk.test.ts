import { BaseLlm, FunctionTool, LlmAgent, type LlmRequest, type LlmResponse } from '@google/adk'
import { describe } from 'vitest'
import { z } from 'zod'
import { adk, asTool } from '../../src/integrations/agents/adk.ts'
import {
  type ModelAnswer,
  type ModelRequests,
  scriptedUsage,
  testFrameworkAdapter,
} from '../contracts/framework-adapter.ts'
import { testRemoteTool } from '../contracts/remote-tool.ts'

describe('adapter for the Agent Development Kit', () => {
  testFrameworkAdapter({
    yes: 'yes',
    no: 'no',
    create(script, { reasoning = false, structured = false } = {}) {
      const requests: ModelRequests = { prompts: [], aborted: 0 }
      const payments: number[] = []
      const weather = new FunctionTool({
        name: 'weather',
        description: 'The weather of a city',
        parameters: z.object({ city: z.string() }),
        execute: ({ city }) => `Sunny in ${city}`,
      })
      const pay = new FunctionTool({
        name: 'pay',
        description: 'Pays an amount',
        parameters: z.object({ amount: z.number() }),
        requireConfirmation: true,
        execute({ amount }) {
          payments.push(amount)
          return `Paid ${amount}`
        },
      })
      const assistant = new LlmAgent({
        name: 'assistant',
        model: new ScriptedModel(script, requests),
        ...(structured ? { outputSchema: z.object({ total: z.number() }) } : { tools: [weather, pay] }),
      })
      return { work: adk(assistant, { reasoning }), requests, payments }
    },
  })
})

describe('remote agents as tools of the Agent Development Kit', () => {
  testRemoteTool({
    without: ['progress'],
    async create(script, target, options) {
      const requests: ModelRequests = { prompts: [], tools: [], aborted: 0 }
      const tools = [await asTool(target, options)]
      return {
        work: adk(new LlmAgent({ name: 'assistant', model: new ScriptedModel(script, requests), tools })),
        requests,
      }
    },
  })
})

class ScriptedModel extends BaseLlm {
  readonly #script: readonly ModelAnswer[]
  readonly #requests: ModelRequests
  #next = 0

  constructor(script: readonly ModelAnswer[], requests: ModelRequests) {
    super({ model: 'scripted' })
    this.#script = script
    this.#requests = requests
  }

  override async *generateContentAsync(
    { contents, config }: LlmRequest,
    _stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    this.#requests.prompts.push(JSON.stringify(contents))
    this.#requests.tools?.push(JSON.stringify(config?.tools))
    abortSignal?.addEventListener('abort', () => this.#requests.aborted++)
    const answer = this.#script[this.#next++] ?? { error: 'the script has ended' }
    if (answer.error !== undefined) throw new Error(answer.error)
    const { reasoning, text = [], calls = [], hangs } = answer
    if (reasoning) yield { partial: true, content: { role: 'model', parts: [{ text: reasoning, thought: true }] } }
    for (const each of text) yield { partial: true, content: { role: 'model', parts: [{ text: each }] } }
    if (hangs)
      await new Promise((_, reject) => abortSignal?.addEventListener('abort', () => reject(abortSignal.reason)))
    const { inputTokens, outputTokens } = scriptedUsage
    yield {
      content: {
        role: 'model',
        parts: [
          ...(reasoning ? [{ text: reasoning, thought: true }] : []),
          ...(text.length > 0 ? [{ text: text.join('') }] : []),
          ...calls.map(({ id, name, input }) => ({ functionCall: { id, name, args: { ...input } } })),
        ],
      },
      usageMetadata: { promptTokenCount: inputTokens, candidatesTokenCount: outputTokens },
    }
  }

  override connect(): never {
    throw new Error('only streams are scripted')
  }
}
