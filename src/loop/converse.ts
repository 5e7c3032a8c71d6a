import type {
  LanguageModelV4,
  LanguageModelV4File,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
} from '@ai-sdk/provider'
import { createVoice } from '../agent/voice.ts'
import type { Invocation, Journal } from '../agent/work.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import type { JsonObject, Message, Part } from '../protocol/model.ts'
import { toBase64 } from '../protocol/parts.ts'
import { progressNote } from '../protocol/progress.ts'
import { timestampNow } from '../protocol/timestamp.ts'
import { type Asked, askModel } from './ask-model.ts'
import { createBrake } from './brake.ts'
import { callTool } from './call-tool.ts'
import { createHearing } from './hearing.ts'
import { inputJsonSchema } from './json-schema.ts'
import { createPrompt } from './prompt.ts'
import { createQuestions, type InputPolicy } from './questions.ts'
import { createResponse } from './response.ts'
import type { Tool, ToolContext } from './tool.ts'
import { readInput, reminderOf } from './tool-input.ts'
import type { Toolbox } from './toolbox.ts'
import { watchedModel } from './watched.ts'

export type LoopEvent = StatusEvent | ArtifactEvent

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
}

/** Lets the model speak and call tools until it has nothing more to call for, and tells it all as events. */
export async function converse(
  parts: readonly Part[],
  invocation: Invocation & { readonly signal: AbortSignal },
  options: ConverseOptions,
  emit: (event: LoopEvent) => void,
): Promise<void> {
  const { model, toolbox, maxSteps, maxToolCalls, toolTimeout: timeout } = options
  const { taskId, contextId, turn, signal, journal, settled, newArtifactId = randomId } = invocation
  const voice = createVoice(invocation)
  const response = createResponse(newArtifactId(), emit)
  const brake = createBrake(signal)
  const hearing = createHearing(brake, options.modelTimeout)
  const questions = createQuestions(voice, { ...invocation, ...options }, emit)
  const usage = { inputTokens: 0, outputTokens: 0, steps: 0, toolCalls: 0 }
  /** What was said since the message came. */
  const since: LanguageModelV4Message[] = []
  let before: readonly LanguageModelV4Message[] | undefined
  let known: ReadonlyMap<string, Tool> | undefined
  let offered: LanguageModelV4FunctionTool[] = []

  function progress(text: string, note: JsonObject, step: string | undefined): void {
    const message = { ...voice.message(text), metadata: { [progressNote]: note } }
    const status = { state: 'working' as const, message, timestamp: timestampNow() }
    emit(step === undefined ? { type: 'status', status } : { type: 'status', status, step })
  }

  function addArtifact(of: string, n: number, given: Pick<Message, 'parts'> & { name?: string }, step?: string): void {
    const artifact = { ...given, artifactId: `${response.artifactId}-${of}-${n}` }
    emit({ type: 'artifact', artifact, lastChunk: true, ...(step !== undefined && { step }) })
  }

  /** Who resumes a turn needs none of it before there is something new to say. */
  async function prepare(): Promise<readonly LanguageModelV4Message[]> {
    return createPrompt({ ...options, history: await historyOf(invocation, options), parts })
  }

  /** Of the step under way: by which mark it is told, what of it is held back, what else it has brought. */
  let mark: string | undefined
  let held: string[] | undefined
  let files = 0
  let hasSpoken = false
  const listener = {
    hasSpoken: () => hasSpoken,
    onText(delta: string) {
      hasSpoken = true
      if (held) held.push(delta)
      else response.write(delta, mark)
    },
    onReasoning(text: string) {
      hasSpoken = true
      progress(text, { type: 'reasoning' }, mark)
    },
    onFile(file: LanguageModelV4File) {
      hasSpoken = true
      addArtifact(`file-${usage.steps}`, ++files, { name: 'file', parts: [filePart(file)] }, mark)
    },
  }
  const asking = { ...options, length: options.maxTextLength, hearing, brake }

  async function askNow(within?: string): Promise<Asked> {
    mark = within
    // A secret that is said in pieces is found only in the whole.
    held = questions.hasSecret() ? [] : undefined
    files = 0
    hasSpoken = false
    before ??= await prepare()
    const all = [...before, ...since]
    const asked = offered.length > 0 ? { prompt: all, tools: offered } : { prompt: all }
    const ask = () => askModel(model, asked, listener, asking)
    const answer = await (turn ? watchedModel(model, turn, ask) : ask())
    if (held && held.length > 0) response.write(held.join(''), mark)
    // What is told of a step is stored before the step is.
    if (mark !== undefined) await settled?.()
    return answer
  }

  async function recall(kept: Journal, n: number): Promise<Asked> {
    let isLive = false
    const answer = await journalled(kept, `model ${n}`, (within) => {
      isLive = true
      return askNow(within)
    })
    if (isLive) return answer
    if (!('failed' in answer)) response.recall(answer.text)
    return { ...answer, isRecalled: true }
  }

  function end(state: 'completed' | 'failed', text: string | undefined, finish?: string): void {
    response.close()
    const told: JsonObject = { usage: { ...usage }, ...(finish !== undefined && { finishReason: finish }) }
    emit({ ...voice.status(state, text), metadata: told })
  }

  async function goOn(): Promise<void> {
    while (usage.steps < maxSteps) {
      usage.steps++
      const found = toolbox.tools(signal, options.report)
      const tools = found instanceof Promise ? await found : found
      if (tools !== known) offered = [...tools.values()].map(offer)
      known = tools
      const step = journal ? await recall(journal, usage.steps) : await askNow()
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
      const inputs = step.calls.map(readInput)
      const reminders = step.calls.map((call, at) => reminderOf(call, inputs[at] ?? noInput))
      since.push({ role: 'assistant', content: [...step.said, ...reminders] })
      const content = await Promise.all(
        step.calls.map(async (call, at) => {
          const { toolCallId, toolName } = call
          const note = { type: 'tool', tool: toolName, toolCallId }
          progress(`Calling ${toolName}`, note, undefined)
          let artifacts = 0
          const contextFor = (within: string | undefined): Omit<ToolContext, 'signal'> => ({
            taskId,
            contextId,
            toolCallId,
            ...(turn && { turn }),
            progress: (text) => progress(text, note, within),
            artifact: (given) => addArtifact(toolCallId, ++artifacts, given, within),
          })
          const isRecalled = step.isRecalled === true
          const output = await callTool(call, inputs[at] ?? noInput, {
            tools,
            questions,
            brake,
            journal,
            timeout,
            isRecalled,
            contextFor,
          })
          return { type: 'tool-result' as const, toolCallId, toolName, output }
        }),
      )
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

async function historyOf({ history = [], earlier }: Invocation, options: ConverseOptions): Promise<readonly Message[]> {
  if (options.history) return await options.history()
  return earlier && options.historyTokens > 0 ? [...(await earlier()), ...history] : history
}

function filePart({ mediaType, data }: LanguageModelV4File): Part {
  if (data.type === 'url') return { url: `${data.url}`, mediaType }
  return { raw: typeof data.data === 'string' ? data.data : toBase64(data.data), mediaType }
}

/** What a model says is JSON, although its types do not tell. */
async function journalled(journal: Journal, name: string, work: (mark: string) => Promise<Asked>): Promise<Asked> {
  return (await journal(name, async (mark) => (await work(mark)) as unknown as JsonObject)) as unknown as Asked
}

function offer(tool: Tool): LanguageModelV4FunctionTool {
  const { name, description } = tool
  // JSON Schema, whichever of its types describes it.
  const inputSchema = inputJsonSchema(tool) as LanguageModelV4FunctionTool['inputSchema']
  return { type: 'function', name, ...(description !== undefined && { description }), inputSchema }
}

const noInput = { given: {} }

function randomId(): string {
  return crypto.randomUUID()
}
