import type {
  JSONValue,
  LanguageModelV4,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolCall,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider'
import { z } from 'zod'

export interface HandWrittenLoopOptions<Input> {
  readonly model: LanguageModelV4
  readonly tools: readonly HandWrittenTool<Input>[]
  readonly maxSteps: number
  readonly maxToolCalls: number
}

interface HandWrittenTool<Input> {
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
 * A minimal loop to compare ours with. It streams, sums up the usage, observes its limits, can be canceled, and reports tool
 * errors to the model, which every unattended loop needs. It has no timeouts, no progress messages and no A2A events.
 */
export function createHandWrittenLoop<Input>({ model, tools, maxSteps, maxToolCalls }: HandWrittenLoopOptions<Input>) {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const definitions = tools.map(({ name, description, input }) => {
    const inputSchema = z.toJSONSchema(input) as LanguageModelV4FunctionTool['inputSchema']
    return { type: 'function' as const, name, description, inputSchema }
  })

  async function call(toolName: string, input: unknown): Promise<LanguageModelV4ToolResultOutput> {
    const tool = byName.get(toolName)
    if (!tool) return { type: 'error-text', value: `There is no tool ${toolName}.` }
    const parsed = tool.input.safeParse(input)
    if (!parsed.success) return { type: 'error-text', value: parsed.error.message }
    try {
      return { type: 'json', value: await tool.run(parsed.data) }
    } catch (error) {
      return { type: 'error-text', value: String(error) }
    }
  }

  return async (question: string, onDelta: (delta: string) => void, abortSignal: AbortSignal): Promise<Outcome> => {
    const prompt: LanguageModelV4Message[] = [{ role: 'user', content: [{ type: 'text', text: question }] }]
    let [inputTokens, outputTokens, toolCalls] = [0, 0, 0]
    for (let step = 0; step < maxSteps; step++) {
      const { stream } = await model.doStream({ prompt: [...prompt], tools: definitions, abortSignal })
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
      const callParts = calls.map(({ toolCallId, toolName }, index) => {
        return { type: 'tool-call' as const, toolCallId, toolName, input: inputs[index] ?? {} }
      })
      prompt.push({
        role: 'assistant',
        content: text === '' ? callParts : [{ type: 'text', text }, ...callParts],
      })
      const content = await Promise.all(
        calls.map(async ({ toolCallId, toolName }, index) => {
          return { type: 'tool-result' as const, toolCallId, toolName, output: await call(toolName, inputs[index]) }
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
