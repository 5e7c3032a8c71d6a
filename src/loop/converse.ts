import type { LanguageModelV4, LanguageModelV4FunctionTool, LanguageModelV4Usage } from '@ai-sdk/provider'
import { createArtifactWriter } from '../agent/artifact-writer.ts'
import { createVoice } from '../agent/voice.ts'
import type { Invocation } from '../agent/work.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import type { JsonObject, Part } from '../protocol/model.ts'
import { callTool } from './call-tool.ts'
import { inputJsonSchema } from './json-schema.ts'
import { takeStep } from './model-step.ts'
import { createPrompt } from './prompt.ts'
import { createQuestions } from './questions.ts'
import type { Tool, ToolContext } from './tool.ts'
import type { Toolbox } from './toolbox.ts'

export type LoopEvent = StatusEvent | ArtifactEvent

export interface ConverseOptions {
  readonly model: LanguageModelV4
  readonly instructions: string | undefined
  readonly toolbox: Toolbox
  /** Told what went wrong although the loop goes on. */
  readonly report: (error: unknown) => void
  readonly maxSteps: number
  readonly maxToolCalls: number
  readonly toolTimeout: number
  readonly historyTokens: number
}

/** Lets the model speak and call tools until it has nothing more to call for, and tells it all as events. */
export async function converse(
  parts: readonly Part[],
  { signal, ...invocation }: Invocation & { readonly signal: AbortSignal },
  options: ConverseOptions,
  emit: (event: LoopEvent) => void,
): Promise<void> {
  const { model, toolbox, maxSteps, maxToolCalls } = options
  const { taskId, contextId, turn, history = [], answerTo } = invocation
  const voice = createVoice(invocation)
  const progress = (text: string) => emit(voice.status('working', text))
  const prompt = createPrompt({ ...options, history, parts })
  const artifact: ToolContext['artifact'] = (given) =>
    emit({ type: 'artifact', artifact: { ...given, artifactId: crypto.randomUUID() }, lastChunk: true })
  const calling = { taskId, contextId, turn, signal, progress, artifact, timeout: options.toolTimeout }
  const context = { ...calling, questions: createQuestions(voice, answerTo, emit) }
  const response = createArtifactWriter({
    artifact: { artifactId: crypto.randomUUID(), name: 'response' },
    emit: async (event) => emit(event),
  })
  const usage = { inputTokens: 0, outputTokens: 0, steps: 0, toolCalls: 0 }
  let hasText = false
  let known: ReadonlyMap<string, Tool> | undefined
  let offered: LanguageModelV4FunctionTool[] = []

  const listener = {
    onText(delta: string) {
      hasText = true
      void response.write(delta)
    },
    onReasoning: progress,
  }

  function end(state: 'completed' | 'failed', text?: string): void {
    if (hasText) void response.close()
    emit({ ...voice.status(state, text), metadata: { usage: { ...usage } satisfies JsonObject } })
  }

  while (usage.steps < maxSteps) {
    usage.steps++
    const tools = await toolbox.tools(signal, options.report)
    if (tools !== known) offered = [...tools.values()].map(offer)
    known = tools
    const asked = { prompt, abortSignal: signal, ...(offered.length > 0 && { tools: offered }) }
    const step = await takeStep(model, asked, listener)
    add(usage, step.usage)
    if (step.finish === 'error') return end('failed', 'The model ended with an error.')
    if (step.calls.length === 0) {
      if (hasText) return end('completed')
      return end('failed', `The model gave an empty answer${step.finish ? ` (${step.finish})` : ''}.`)
    }
    usage.toolCalls += step.calls.length
    if (usage.toolCalls > maxToolCalls) return end('failed', `The model called tools more than ${maxToolCalls} times.`)
    prompt.push({ role: 'assistant', content: [...step.said] })
    const results = await Promise.all(
      step.calls.map(async (call) => {
        progress(`Calling ${call.toolName}`)
        const { toolCallId, toolName } = call
        return {
          type: 'tool-result' as const,
          toolCallId,
          toolName,
          output: await callTool(call, { ...context, tools }),
        }
      }),
    )
    signal.throwIfAborted()
    prompt.push({ role: 'tool', content: results })
  }
  end('failed', `The model did not finish within ${maxSteps} steps.`)
}

function offer(tool: Tool): LanguageModelV4FunctionTool {
  const { name, description } = tool
  // JSON Schema, whichever of its types describes it.
  const inputSchema = inputJsonSchema(tool) as LanguageModelV4FunctionTool['inputSchema']
  return { type: 'function', name, ...(description !== undefined && { description }), inputSchema }
}

function add(sum: { inputTokens: number; outputTokens: number }, usage: LanguageModelV4Usage | undefined): void {
  sum.inputTokens += usage?.inputTokens.total ?? 0
  sum.outputTokens += usage?.outputTokens.total ?? 0
}
