import type {
  JSONValue,
  LanguageModelV4,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider'
import { z } from 'zod'

export interface LoopByHandOptions<Input> {
  readonly model: LanguageModelV4
  readonly tools: readonly HandTool<Input>[]
  readonly maxSteps: number
  readonly maxToolCalls: number
}

interface HandTool<Input> {
  readonly name: string
  readonly description: string
  readonly input: z.ZodType<Input>
  readonly run: (input: Input) => JSONValue | Promise<JSONValue>
}

export interface Outcome {
  readonly text: string
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * A loop as an author would write it who needs nothing else: the peer of ours. It streams, adds up what is used, keeps
 * to its limits, can be canceled, and gives what goes wrong with a tool to the model, without which no loop can be left
 * alone. It has no timeouts, tells nobody about its tools and makes nothing of A2A.
 */
export function createLoopByHand<Input>({ model, tools, maxSteps, maxToolCalls }: LoopByHandOptions<Input>) {
  const known = new Map(tools.map((tool) => [tool.name, tool]))
  const offered = tools.map(({ name, description, input }) => {
    const inputSchema = z.toJSONSchema(input) as LanguageModelV4FunctionTool['inputSchema']
    return { type: 'function' as const, name, description, inputSchema }
  })

  async function call(toolName: string, input: unknown): Promise<LanguageModelV4ToolResultOutput> {
    const tool = known.get(toolName)
    if (!tool) return { type: 'error-text', value: `There is no tool ${toolName}.` }
    const checked = tool.input.safeParse(input)
    if (!checked.success) return { type: 'error-text', value: checked.error.message }
    try {
      return { type: 'json', value: await tool.run(checked.data) }
    } catch (error) {
      return { type: 'error-text', value: String(error) }
    }
  }

  return async (asked: string, onDelta: (delta: string) => void, abortSignal: AbortSignal): Promise<Outcome> => {
    const prompt: LanguageModelV4Message[] = [{ role: 'user', content: [{ type: 'text', text: asked }] }]
    let [inputTokens, outputTokens, toolCalls] = [0, 0, 0]
    for (let step = 0; step < maxSteps; step++) {
      const { stream } = await model.doStream({ prompt: [...prompt], tools: offered, abortSignal })
      const calls: LanguageModelV4ToolCall[] = []
      let text = ''
      for await (const part of stream) {
        if (part.type === 'text-delta') {
          text += part.delta
          onDelta(part.delta)
        } else if (part.type === 'tool-call') calls.push(part)
        else if (part.type === 'error') throw part.error
        else if (part.type === 'finish') {
          inputTokens += part.usage.inputTokens.total ?? 0
          outputTokens += part.usage.outputTokens.total ?? 0
        }
      }
      if (calls.length === 0) return { text, inputTokens, outputTokens }
      toolCalls += calls.length
      if (toolCalls > maxToolCalls) throw new Error(`The model called tools more than ${maxToolCalls} times.`)
      const inputs = calls.map(({ input }) => parse(input))
      const reminders = calls.map(({ toolCallId, toolName }, at) => {
        return { type: 'tool-call' as const, toolCallId, toolName, input: inputs[at] ?? {} }
      })
      prompt.push({
        role: 'assistant',
        content: text === '' ? reminders : [{ type: 'text', text }, ...reminders],
      })
      const content = await Promise.all(
        calls.map(async ({ toolCallId, toolName }, at) => {
          return { type: 'tool-result' as const, toolCallId, toolName, output: await call(toolName, inputs[at]) }
        }),
      )
      prompt.push({ role: 'tool', content })
      abortSignal.throwIfAborted()
    }
    throw new Error(`The model did not finish within ${maxSteps} steps.`)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
