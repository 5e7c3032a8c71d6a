import type { LanguageModelV4, LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider'
import type { Turn } from '../agent/turn.ts'
import { createVoice } from '../agent/voice.ts'
import type { Invocation } from '../agent/work.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import type { JsonObject, Message, Part } from '../protocol/model.ts'
import { toBase64 } from '../protocol/parts.ts'
import { progressNote } from '../protocol/progress.ts'
import { type Asked, askModel, type ModelLimits } from './ask-model.ts'
import { callTool } from './call-tool.ts'
import { inputJsonSchema } from './json-schema.ts'
import { createPrompt } from './prompt.ts'
import { createQuestions, type InputPolicy } from './questions.ts'
import { createResponse } from './response.ts'
import type { Tool } from './tool.ts'
import type { Toolbox } from './toolbox.ts'

export type LoopEvent = StatusEvent | ArtifactEvent

export interface ConverseOptions extends ModelLimits, InputPolicy {
  readonly model: LanguageModelV4
  readonly instructions: string | undefined
  readonly toolbox: Toolbox
  readonly history: (() => readonly Message[] | Promise<readonly Message[]>) | undefined
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
  invocation: Invocation & { readonly signal: AbortSignal },
  options: ConverseOptions,
  emit: (event: LoopEvent) => void,
): Promise<void> {
  const { model, toolbox, maxSteps, maxToolCalls } = options
  const { taskId, contextId, turn, signal, journal, settled, newArtifactId = randomId } = invocation
  const voice = createVoice(invocation)
  const response = createResponse(newArtifactId(), emit)
  const questions = createQuestions(voice, { ...invocation, ...options }, emit)
  const usage = { inputTokens: 0, outputTokens: 0, steps: 0, toolCalls: 0 }
  /** What was said since the message came. */
  const since: LanguageModelV4Message[] = []
  let before: readonly LanguageModelV4Message[] | undefined
  let known: ReadonlyMap<string, Tool> | undefined
  let offered: LanguageModelV4FunctionTool[] = []

  function progress(text: string, note: JsonObject, step: string | undefined): void {
    const event = voice.status('working', text)
    const { status } = event
    const message = status.message && { ...status.message, metadata: { [progressNote]: note } }
    emit({ ...event, status: { ...status, message }, ...(step !== undefined && { step }) })
  }

  function addArtifact(of: string, n: number, given: Pick<Message, 'parts'> & { name?: string }, step?: string): void {
    const artifact = { ...given, artifactId: `${response.artifactId}-${of}-${n}` }
    emit({ type: 'artifact', artifact, lastChunk: true, ...(step !== undefined && { step }) })
  }

  /** Who resumes a turn needs none of it before there is something new to say. */
  async function prompt(): Promise<LanguageModelV4Message[]> {
    before ??= createPrompt({ ...options, history: await historyOf(invocation, options), parts })
    return [...before, ...since]
  }

  async function ask(n: number): Promise<Asked> {
    let isLive = false
    const work = async (mark?: string): Promise<Asked> => {
      isLive = true
      const asked = { prompt: await prompt(), abortSignal: signal, ...(offered.length > 0 && { tools: offered }) }
      let files = 0
      // A secret that is said in pieces is found only in the whole.
      const held: string[] | undefined = questions.hasSecret() ? [] : undefined
      const listener = {
        onText: (delta: string) => (held ? void held.push(delta) : response.write(delta, mark)),
        onReasoning: (text: string) => progress(text, { type: 'reasoning' }, mark),
        onFile: (file: ModelFile) => addArtifact(`file-${n}`, ++files, { name: 'file', parts: [filePart(file)] }, mark),
      }
      const answer = await watched(model, turn, () => askModel(model, asked, listener, options))
      if (held?.length) response.write(held.join(''), mark)
      // What is told of a step is stored before the step is.
      if (mark !== undefined) await settled?.()
      return answer
    }
    const answer = journal ? await journalled(journal, `model ${n}`, work) : await work()
    if (!isLive && !('failed' in answer)) response.recall(answer.text)
    return isLive ? answer : { ...answer, isRecalled: true }
  }

  function end(state: 'completed' | 'failed', text: string | undefined, finish?: string): void {
    response.close()
    const told: JsonObject = { usage: { ...usage }, ...(finish !== undefined && { finishReason: finish }) }
    emit({ ...voice.status(state, text), metadata: told })
  }

  while (usage.steps < maxSteps) {
    usage.steps++
    const tools = await toolbox.tools(signal, options.report)
    if (tools !== known) offered = [...tools.values()].map(offer)
    known = tools
    const step = await ask(usage.steps)
    if ('failed' in step) return end('failed', step.failed)
    usage.inputTokens += step.inputTokens
    usage.outputTokens += step.outputTokens
    if (step.finish === 'error') return end('failed', 'The model ended with an error.', step.finish)
    if (step.calls.length === 0) {
      if (response.hasText) return end('completed', undefined, step.finish)
      return end('failed', `The model gave an empty answer (${step.finish}).`, step.finish)
    }
    usage.toolCalls += step.calls.length
    if (usage.toolCalls > maxToolCalls) return end('failed', `The model called tools more than ${maxToolCalls} times.`)
    since.push({ role: 'assistant', content: [...step.said] })
    const content = await Promise.all(
      step.calls.map(async (call) => {
        const { toolCallId, toolName } = call
        const note = { type: 'tool', tool: toolName, toolCallId }
        progress(`Calling ${toolName}`, note, undefined)
        let artifacts = 0
        const output = await callTool(call, {
          tools,
          questions,
          signal,
          journal,
          timeout: options.toolTimeout,
          isRecalled: step.isRecalled === true,
          contextFor: (mark) => ({
            taskId,
            contextId,
            toolCallId,
            signal,
            ...(turn && { turn }),
            progress: (text) => progress(text, note, mark),
            artifact: (given) => addArtifact(toolCallId, ++artifacts, given, mark),
          }),
        })
        return { type: 'tool-result' as const, toolCallId, toolName, output }
      }),
    )
    signal.throwIfAborted()
    since.push({ role: 'tool', content })
  }
  end('failed', `The model did not finish within ${maxSteps} steps.`)
}

async function historyOf({ history = [], earlier }: Invocation, options: ConverseOptions): Promise<readonly Message[]> {
  if (options.history) return await options.history()
  return earlier && options.historyTokens > 0 ? [...(await earlier()), ...history] : history
}

/** For whoever watches the turn. */
function watched(model: LanguageModelV4, turn: Turn | undefined, ask: () => Promise<Asked>): Promise<Asked> {
  if (!turn) return ask()
  return turn.observe({ type: 'model', provider: model.provider, model: model.modelId }, async (span) => {
    const answer = await ask()
    if ('failed' in answer) {
      span?.end(new A2AError('invalid-agent-response', answer.failed))
      return answer
    }
    const { inputTokens, outputTokens, finish } = answer
    span?.learn({ inputTokens, outputTokens, finish })
    return answer
  })
}

type ModelFile = Parameters<Parameters<typeof askModel>[2]['onFile']>[0]

function filePart({ mediaType, data }: ModelFile): Part {
  if (data.type === 'url') return { url: `${data.url}`, mediaType }
  return { raw: typeof data.data === 'string' ? data.data : toBase64(data.data), mediaType }
}

/** What a model says is JSON, although its types do not tell. */
async function journalled(
  journal: NonNullable<Invocation['journal']>,
  name: string,
  work: (mark: string) => Promise<Asked>,
): Promise<Asked> {
  return (await journal(name, async (mark) => (await work(mark)) as unknown as JsonObject)) as unknown as Asked
}

function offer(tool: Tool): LanguageModelV4FunctionTool {
  const { name, description } = tool
  // JSON Schema, whichever of its types describes it.
  const inputSchema = inputJsonSchema(tool) as LanguageModelV4FunctionTool['inputSchema']
  return { type: 'function', name, ...(description !== undefined && { description }), inputSchema }
}

function randomId(): string {
  return crypto.randomUUID()
}
