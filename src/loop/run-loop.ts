import type { LanguageModelV4, LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider'
import type { Invocation } from '../agent/agent-function.ts'
import { createAgentEvents } from '../agent/turn-output.ts'
import type { JsonObject } from '../base/json.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import type { Message, Part } from '../protocol/model.ts'
import { createModelCaller, type Watcher } from './ask-model.ts'
import { createAbortListeners, createHearing } from './model-stream.ts'
import { createResponse, createTelling } from './output.ts'
import { createPrompt } from './prompt.ts'
import { createQuestions, type InputPolicy } from './questions.ts'
import { callTool } from './tools/call-tool.ts'
import { readCall, reminderOf } from './tools/run-tool.ts'
import { inputJsonSchema, type Tool } from './tools/tool.ts'
import type { Toolbox } from './tools/toolbox.ts'

export interface ConverseOptions extends InputPolicy {
  readonly model: LanguageModelV4
  readonly instructions: string | undefined
  readonly toolbox: Toolbox
  readonly history: (() => readonly Message[] | Promise<readonly Message[]>) | undefined
  /** Told what went wrong although the loop goes on. */
  readonly report: (error: unknown) => void
  readonly modelTimeout: number
  readonly modelRetries: number
  readonly maxTextLength: number
  readonly maxSteps: number
  readonly maxToolCalls: number
  readonly toolTimeout: number
  readonly historyTokens: number
  readonly watcher: Watcher | undefined
}

export type LoopEvent = StatusEvent | ArtifactEvent

/** Lets the model speak and call tools until it has nothing more to call for, and tells it all as events. */
export async function runLoop(
  parts: readonly Part[],
  invocation: Invocation & { readonly signal: AbortSignal },
  options: ConverseOptions,
  emit: (event: LoopEvent) => void,
): Promise<void> {
  const { toolbox, maxSteps, maxToolCalls, toolTimeout, watcher } = options
  const { taskId, contextId, turn, signal, journal, newArtifactId = randomId, isReplaying, trace } = invocation
  const voice = createAgentEvents(invocation)
  const response = createResponse(newArtifactId(), emit)
  const telling = createTelling(voice, response.artifactId, emit)
  const brake = createAbortListeners(signal)
  const hearing = createHearing(brake, options.modelTimeout)
  const questions = createQuestions(voice, { ...invocation, ...options }, emit)
  const usage = { inputTokens: 0, outputTokens: 0, steps: 0, toolCalls: 0 }
  /** What was said since the message came. */
  const since: LanguageModelV4Message[] = []
  const prepare = async () => createPrompt({ ...options, history: await historyOf(invocation, options), parts })
  const ask = createModelCaller(
    { ...options, response, telling, questions, hearing, brake, prepare, since },
    invocation,
  )
  const shop = { taskId, contextId, turn, journal, telling, brake, toolTimeout, watcher, trace }
  const calling = { ...shop, questions, isReplaying }

  function end(state: 'completed' | 'failed', text: string | undefined, finish?: string): void {
    response.close()
    const told: JsonObject = { usage: { ...usage }, ...(finish !== undefined && { finishReason: finish }) }
    emit({ ...voice.status(state, text), metadata: told })
  }

  async function goOn(): Promise<void> {
    let known: ReadonlyMap<string, Tool> | undefined
    let offered: LanguageModelV4FunctionTool[] = []
    while (usage.steps < maxSteps) {
      usage.steps++
      const found = toolbox.tools(signal, options.report)
      const tools = found instanceof Promise ? await found : found
      if (tools !== known) offered = [...tools.values()].map(offer)
      known = tools
      const step = await ask(offered)
      if ('failed' in step) return end('failed', step.failed)
      usage.inputTokens += step.inputTokens
      usage.outputTokens += step.outputTokens
      if (step.finish === 'error') return end('failed', 'The model ended with an error.', step.finish)
      if (step.calls.length === 0) {
        if (response.hasText) return end('completed', undefined, step.finish)
        return end('failed', `The model gave an empty answer (${step.finish}).`, step.finish)
      }
      usage.toolCalls += step.calls.length
      if (usage.toolCalls > maxToolCalls)
        return end('failed', `The model called tools more than ${maxToolCalls} times.`)
      const calls = step.calls.map((call) => readCall(call, step.isRecalled === true))
      since.push({ role: 'assistant', content: [...step.said, ...calls.map(reminderOf)] })
      const content = await Promise.all(calls.map((call) => callTool(call, tools, calling)))
      signal.throwIfAborted()
      since.push({ role: 'tool', content })
    }
    end('failed', `The model did not finish within ${maxSteps} steps.`)
  }

  try {
    await goOn()
  } finally {
    hearing.close()
    brake.close()
  }
}

function randomId(): string {
  return crypto.randomUUID()
}

async function historyOf({ history = [], earlier }: Invocation, options: ConverseOptions): Promise<readonly Message[]> {
  if (options.history) return await options.history()
  return earlier && options.historyTokens > 0 ? [...(await earlier()), ...history] : history
}

function offer(tool: Tool): LanguageModelV4FunctionTool {
  const { name, description } = tool
  // JSON Schema, whichever of its types describes it.
  const inputSchema = inputJsonSchema(tool) as LanguageModelV4FunctionTool['inputSchema']
  return { type: 'function', name, ...(description !== undefined && { description }), inputSchema }
}
