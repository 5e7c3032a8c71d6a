import type { LanguageModelV4, LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider'
import type { Invocation } from '../core/agent/agent-function.ts'
import { createAgentEvents } from '../core/agent/content.ts'
import { defined, type JsonObject } from '../core/base/json.ts'
import type { ArtifactEvent, StatusEvent } from '../core/protocol/events.ts'
import type { Message, Part } from '../core/protocol/model.ts'
import { createModelCaller, type LoopObserver } from './call-model.ts'
import { createAbortListeners, createModelTimeout, tooManyCalls } from './model-stream.ts'
import { createLoopOutput, createResponseArtifact } from './output.ts'
import { createPrompt } from './prompt.ts'
import { createQuestions, type InputPolicy } from './questions.ts'
import type { ReportFailure } from './report.ts'
import { callTool, emitResults } from './tools/call-tool.ts'
import { decodeToolCall, toPromptPart } from './tools/run-tool.ts'
import { inputJsonSchema, type Tool } from './tools/tool.ts'
import type { Toolbox } from './tools/toolbox.ts'

export interface LoopSettings extends InputPolicy {
  readonly model: LanguageModelV4
  readonly instructions: string | undefined
  readonly toolbox: Toolbox
  readonly history: (() => readonly Message[] | Promise<readonly Message[]>) | undefined
  /** Receives failures, for the log and for the author's `onError`. */
  readonly report: ReportFailure
  /** The same for failures that the model learns of, for the log alone. */
  readonly logFailure: ReportFailure
  readonly modelTimeout: number
  readonly answerTimeout: number
  readonly modelRetries: number
  readonly maxTextLength: number
  readonly maxSteps: number
  readonly maxToolCalls: number
  readonly maxResultLength: number
  readonly toolTimeout: number
  readonly historyTokens: number
  readonly observer: LoopObserver | undefined
  readonly toolMessages: boolean
}

/** An event of a loop: a status, or a chunk of an artifact. */
export type LoopEvent = StatusEvent | ArtifactEvent

/** Calls the model and its tools until the model calls no more tools, and emits the output as events. */
export async function runLoop(
  parts: readonly Part[],
  invocation: Invocation & { readonly signal: AbortSignal },
  settings: LoopSettings,
  emit: (event: LoopEvent) => void,
): Promise<void> {
  const { toolbox, maxSteps, maxToolCalls, maxResultLength, toolTimeout, observer, toolMessages } = settings
  const { taskId, contextId, turn, signal, journal, newArtifactId = randomId, isReplaying, trace } = invocation
  const agentEvents = createAgentEvents(invocation)
  const response = createResponseArtifact(newArtifactId(), emit)
  const output = createLoopOutput(agentEvents, response.artifactId, emit)
  const abortListeners = createAbortListeners(signal)
  const timeout = createModelTimeout(abortListeners, settings)
  const questions = createQuestions(agentEvents, { ...invocation, ...settings }, emit)
  const usage = { inputTokens: 0, outputTokens: 0, steps: 0, toolCalls: 0 }
  /** Model answers and tool results since the caller's message. */
  const messages: LanguageModelV4Message[] = []
  const preparePrompt = async () =>
    createPrompt({ ...settings, history: await readHistory(invocation, settings), parts })
  const callModel = createModelCaller(
    { ...settings, response, output, questions, timeout, abortListeners, preparePrompt, messages },
    invocation,
  )
  const toolContext = {
    taskId,
    contextId,
    turn,
    journal,
    output,
    abortListeners,
    toolTimeout,
    maxResultLength,
    observer,
    trace,
    questions,
    logFailure: settings.logFailure,
    isReplaying,
    toolMessages,
  }

  function end(state: 'completed' | 'failed', text: string | undefined, finish?: string): void {
    response.close()
    const metadata: JsonObject = defined({ usage: { ...usage }, finishReason: finish })
    emit({ ...agentEvents.status(state, text), metadata })
  }

  async function runSteps(): Promise<void> {
    let previousTools: ReadonlyMap<string, Tool> | undefined
    let definitions: LanguageModelV4FunctionTool[] = []
    while (usage.steps < maxSteps) {
      usage.steps++
      const listing = toolbox.tools(signal, settings)
      const tools = listing instanceof Promise ? await listing : listing
      if (tools !== previousTools) definitions = [...tools.values()].map(toDefinition)
      previousTools = tools
      const step = await callModel(definitions)
      if ('failed' in step) return end('failed', step.failed)
      usage.inputTokens += step.inputTokens
      usage.outputTokens += step.outputTokens
      if (step.finish === 'error') return end('failed', 'The model ended with an error.', step.finish)
      if (step.calls.length === 0) {
        if (response.hasText) return end('completed', undefined, step.finish)
        return end('failed', `The model gave an empty answer (${step.finish}).`, step.finish)
      }
      usage.toolCalls += step.calls.length
      if (usage.toolCalls > maxToolCalls) return end('failed', tooManyCalls(maxToolCalls).message)
      const calls = step.calls.map((call) => decodeToolCall(call, step.isReplayed === true))
      messages.push({ role: 'assistant', content: [...step.content, ...calls.map(toPromptPart)] })
      const content = await Promise.all(calls.map((call) => callTool(call, tools, toolContext)))
      signal.throwIfAborted()
      emitResults(calls, content, tools, toolContext)
      messages.push({ role: 'tool', content })
    }
    end('failed', `The model did not finish within ${maxSteps} steps.`)
  }

  try {
    await runSteps()
  } finally {
    timeout.close()
    abortListeners.close()
  }
}

function randomId(): string {
  return crypto.randomUUID()
}

async function readHistory({ history = [], earlier }: Invocation, settings: LoopSettings): Promise<readonly Message[]> {
  if (settings.history) return await settings.history()
  return earlier && settings.historyTokens > 0 ? [...(await earlier()), ...history] : history
}

function toDefinition(tool: Tool): LanguageModelV4FunctionTool {
  const { name, description } = tool
  // Both types describe JSON Schema.
  const inputSchema = inputJsonSchema(tool) as LanguageModelV4FunctionTool['inputSchema']
  return { type: 'function', name, ...defined({ description }), inputSchema }
}
