import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4File,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
} from '@ai-sdk/provider'
import type { Invocation, JournalStep } from '../agent/agent-function.ts'
import type { Turn } from '../agent/turn.ts'
import { toBase64 } from '../base/base64.ts'
import type { JsonObject } from '../base/json.ts'
import type { Trace } from '../base/trace-context.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ArtifactEvent, StatusEvent } from '../protocol/events.ts'
import type { Part } from '../protocol/model.ts'
import { observe, type Telemetry } from '../protocol/telemetry.ts'
import {
  type AbortListeners,
  type ModelListener,
  type ModelStep,
  type ModelTimeout,
  type ToolCall,
  takeStep,
} from './model-stream.ts'
import type { LoopOutput, Response } from './output.ts'
import type { Questions } from './questions.ts'

export interface LoopWatch {
  readonly telemetry: Telemetry
  /** Of the loop. */
  readonly name: string
}

/** Whoever watches what a loop does: its turn, or, if it has none, who is handed in. */
export type Watcher = Pick<Turn, 'observe' | 'trace'>

/** A loop without an agent, seen as an agent that answers. */
export function watchedLoop(
  { telemetry, name }: LoopWatch,
  { taskId, contextId, trace: under }: Invocation,
  emit: Emit,
  work: (watcher: Watcher, emit: Emit) => Promise<void>,
): Promise<void> {
  const activity = { type: 'turn', agent: name, taskId, contextId, attempt: 1 } as const
  return observe(telemetry, activity, under, async (span) => {
    const trace = span?.trace ?? under
    const watcher: Watcher = { trace, observe: (each, act) => observe(telemetry, each, trace, act) }
    await work(watcher, (event) => {
      if (event.type === 'status') span?.learn({ state: event.status.state })
      emit(event)
    })
  })
}

/** A tool that is run. What went wrong may tell what the tool was given: it is not told. */
export function watchedTool<T>(
  { toolName, toolCallId }: ToolCall,
  watcher: Watcher,
  act: (trace: Trace | undefined) => T | Promise<T>,
): Promise<T> {
  return watcher.observe({ type: 'tool', tool: toolName, callId: toolCallId }, async (span) => {
    try {
      return await act(span?.trace ?? watcher.trace)
    } catch (error) {
      span?.end(new A2AError('tool-failed', 'The tool failed.'))
      throw error
    }
  })
}

export interface AskModelOptions {
  /** Characters that it may say. */
  readonly maxTextLength: number
  readonly modelRetries: number
  readonly report: (error: unknown) => void
  readonly hearing: ModelTimeout
  readonly brake: AbortListeners
}

export interface AskingOptions extends AskModelOptions {
  readonly model: LanguageModelV4
  readonly response: Response
  readonly telling: LoopOutput
  readonly questions: Questions
  /** What the model is told first. Who resumes a turn does not need it before there is something new to say. */
  readonly prepare: () => Promise<LanguageModelV4Message[]>
  readonly watcher: Watcher | undefined
  /** What was said since. */
  readonly since: readonly LanguageModelV4Message[]
}

/** What a model has said, or what the caller is told of it. */
export type Asked = (ModelStep | { readonly failed: string }) & {
  /** It was said to a process that is gone. */
  readonly isRecalled?: true
}

/** Gives what the model says next, and tells it, unless it was said to a process that is gone. */
export type Asking = (tools: LanguageModelV4FunctionTool[]) => Promise<Asked>

export function createModelCaller(options: AskingOptions, { journal, settled }: Invocation): Asking {
  const { model, response, telling, questions, prepare, since, hearing, watcher } = options
  let before: LanguageModelV4Message[] | undefined
  let step = 0

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
      telling.progress(text, { type: 'reasoning' }, mark)
    },
    onFile(file: LanguageModelV4File) {
      hasSpoken = true
      telling.artifact(`file-${step}`, ++files, { name: 'file', parts: [filePart(file)] }, mark)
    },
  }

  /** Waits for nothing that is there: every layer of promises is paid for in every step. */
  function askNow(tools: LanguageModelV4FunctionTool[]): Promise<Asked> {
    if (!before) return begin(tools)
    // A secret that is said in pieces is found only in the whole.
    held = questions.hasSecret() ? [] : undefined
    files = 0
    hasSpoken = false
    const offered = tools.length > 0 ? tools : undefined
    const asked = { prompt: before.concat(since), tools: offered, abortSignal: hearing.signal }
    const ask = () => askModel(model, asked, listener, options)
    const answer = watcher ? watchedModel(model, watcher, ask) : ask()
    return held ? answer.then(tellHeld) : answer
  }

  async function begin(tools: LanguageModelV4FunctionTool[]): Promise<Asked> {
    before = await prepare()
    return await askNow(tools)
  }

  function tellHeld(answer: Asked): Asked {
    if (held && held.length > 0) response.write(held.join(''), mark)
    return answer
  }

  async function recall(kept: JournalStep, tools: LanguageModelV4FunctionTool[]): Promise<Asked> {
    let isLive = false
    const answer = await journalled(kept, `model ${step}`, async (within) => {
      isLive = true
      mark = within
      const said = await askNow(tools)
      // What is told of a step is stored before the step is.
      await settled?.()
      return said
    })
    if (isLive) return answer
    if (!('failed' in answer)) response.recall(answer.text)
    return { ...answer, isRecalled: true }
  }

  return (tools) => {
    step++
    return journal ? recall(journal, tools) : askNow(tools)
  }
}

type Emit = (event: StatusEvent | ArtifactEvent) => void

function filePart({ mediaType, data }: LanguageModelV4File): Part {
  if (data.type === 'url') return { url: `${data.url}`, mediaType }
  return { raw: typeof data.data === 'string' ? data.data : toBase64(data.data), mediaType }
}

/** Asks a model, and again if it has said nothing yet and its provider thinks that this makes sense. */
function askModel(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  listener: ModelListener & { readonly hasSpoken: () => boolean },
  limits: AskModelOptions,
  attempt = 0,
): Promise<Asked> {
  return takeStep(model, options, listener, limits).catch(async (error): Promise<Asked> => {
    const { brake, modelRetries, report } = limits
    brake.signal.throwIfAborted()
    report(error)
    const hasSpoken = listener.hasSpoken()
    if (!hasSpoken && attempt < modelRetries && isRetryable(error)) {
      await pause(500 * 2 ** attempt, brake)
      return await askModel(model, options, listener, limits, attempt + 1)
    }
    // What a provider says of its errors is not for callers: it may tell addresses and keys.
    if (error instanceof A2AError) return { failed: error.message }
    return { failed: hasSpoken ? 'The model broke off in its answer.' : 'The model could not be asked.' }
  })
}

/** As the errors of providers say of themselves. */
function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'isRetryable' in error && error.isRetryable === true
}

function pause(milliseconds: number, brake: AbortListeners): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      release()
      resolve()
    }, milliseconds)
    const release = brake.onStop((reason) => {
      clearTimeout(timer)
      reject(reason)
    })
  })
}

/** A model that is asked. */
function watchedModel(model: LanguageModelV4, watcher: Watcher, ask: () => Promise<Asked>): Promise<Asked> {
  return watcher.observe({ type: 'model', provider: model.provider, model: model.modelId }, async (span) => {
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

/** What a model says is JSON, although its types do not tell. */
async function journalled(journal: JournalStep, name: string, work: (mark: string) => Promise<Asked>): Promise<Asked> {
  return (await journal(name, async (mark) => (await work(mark)) as unknown as JsonObject)) as unknown as Asked
}
