import type { LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Invocation } from '../core/agent/agent-function.ts'
import { createAgentEvents } from '../core/agent/content.ts'
import { describeIssues } from '../core/agent/standard-schema.ts'
import { defined, type Json, type JsonObject, toJson } from '../core/base/json.ts'
import type { ArtifactEvent, StatusEvent } from '../core/protocol/events.ts'
import type { Message, Part } from '../core/protocol/model.ts'
import { createModelCaller, type LoopObserver, type ModelCallerOptions } from './call-model.ts'
import { createAbortListeners, createModelTimeout, type ModelStep, tooManyCalls } from './model-stream.ts'
import { createLoopOutput, createResponseArtifact } from './output.ts'
import { createPrompt } from './prompt.ts'
import { createQuestions, type InputPolicy } from './questions.ts'
import type { ReportFailure } from './report.ts'
import { callTool, emitResults } from './tools/call-tool.ts'
import { decodeToolCall, toPromptPart } from './tools/run-tool.ts'
import { inputJsonSchema, type Tool } from './tools/tool.ts'
import type { Toolbox } from './tools/toolbox.ts'

/** How often a model may correct an output that does not fit its schema. */
const maxCorrections = 2

export interface LoopSettings
  extends InputPolicy,
    Pick<ModelCallerOptions, 'models' | 'settings' | 'toolChoice' | 'responseFormat'> {
  readonly instructions: () => string | undefined | Promise<string | undefined>
  /** The schema of a structured answer. */
  readonly outputSchema: StandardSchemaV1 | undefined
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
  readonly tokenBudget: number
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
  const {
    toolbox,
    outputSchema,
    tokenBudget,
    maxSteps,
    maxToolCalls,
    maxResultLength,
    toolTimeout,
    observer,
    toolMessages,
  } = settings
  const { taskId, contextId, turn, signal, journal, newArtifactId = randomId, isReplaying, trace } = invocation
  const agentEvents = createAgentEvents(invocation)
  const response = createResponseArtifact(newArtifactId(), emit)
  const output = createLoopOutput(agentEvents, response.artifactId, emit)
  const abortListeners = createAbortListeners(signal)
  const timeout = createModelTimeout(abortListeners, settings)
  const questions = createQuestions(agentEvents, { ...invocation, ...settings }, emit)
  let corrections = 0
  const usage = { inputTokens: 0, outputTokens: 0, steps: 0, toolCalls: 0 }
  /** Model answers and tool results since the caller's message. */
  const messages: LanguageModelV4Message[] = []
  const preparePrompt = async () => {
    const instructions = await settings.instructions()
    return createPrompt({ ...settings, instructions, history: await readHistory(invocation, settings), parts })
  }
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

  /** Emits a structured answer, or tells the model what is wrong with it. Returns whether the loop has ended. */
  async function endWithOutput(schema: StandardSchemaV1, { text, finish }: ModelStep): Promise<boolean> {
    const result = await readOutput(schema, text)
    if ('value' in result) {
      output.artifact('output', 1, { name: 'response', parts: [{ data: result.value }] }, undefined)
      end('completed', undefined, finish)
      return true
    }
    if (corrections++ >= maxCorrections) {
      end('failed', `The model gave no output that fits the schema: ${result.problem}`, finish)
      return true
    }
    if (text !== '') messages.push({ role: 'assistant', content: [{ type: 'text', text }] })
    const correction = `Your answer must be one JSON value that fits the schema, and nothing else: ${result.problem}`
    messages.push({ role: 'user', content: [{ type: 'text', text: correction }] })
    return false
  }

  async function runSteps(): Promise<void> {
    let previousTools: ReadonlyMap<string, Tool> | undefined
    let definitions: LanguageModelV4FunctionTool[] = []
    while (usage.steps < maxSteps) {
      if (usage.inputTokens + usage.outputTokens >= tokenBudget) {
        return end('failed', `The model used up its budget of ${tokenBudget} tokens before it was done.`)
      }
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
      if (step.calls.length === 0 && outputSchema) {
        if (await endWithOutput(outputSchema, step)) return
        continue
      }
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

/** Models often put JSON into a block of Markdown. */
async function readOutput(
  schema: StandardSchemaV1,
  text: string,
): Promise<{ readonly value: Json } | { readonly problem: string }> {
  let json: unknown
  try {
    json = JSON.parse(text.trim().replace(/^```(?:json)?\n([\s\S]*)\n```$/, '$1'))
  } catch {
    return { problem: 'it is no JSON' }
  }
  const result = await schema['~standard'].validate(json)
  if (result.issues) return { problem: describeIssues(result.issues) }
  return { value: toJson(result.value, 'The output of the model') ?? null }
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
