import type {
  LanguageModelV4CallOptions,
  LanguageModelV4File,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
} from '@ai-sdk/provider'
import type { Invocation, JournalStep } from '../core/agent/agent-function.ts'
import type { Turn } from '../core/agent/turn.ts'
import { toBase64 } from '../core/base/base64.ts'
import { sleep, systemClock } from '../core/base/clock.ts'
import { defined, type JsonObject } from '../core/base/json.ts'
import type { Trace } from '../core/base/trace-context.ts'
import { A2AError } from '../core/protocol/errors.ts'
import type { ArtifactEvent, StatusEvent } from '../core/protocol/events.ts'
import type { Part } from '../core/protocol/model.ts'
import { observe, type Telemetry } from '../core/protocol/telemetry.ts'
import {
  type AbortListeners,
  type LoopModel,
  type ModelListener,
  type ModelStep,
  type ModelTimeout,
  streamStep,
  type ToolCall,
} from './model-stream.ts'
import type { LoopOutput, ResponseArtifact } from './output.ts'
import type { Questions } from './questions.ts'
import type { ReportFailure } from './report.ts'

/** What a caller reads of a model that fails. The cause is in the log. */
export const modelFailed =
  'The model could not be called. Try again later; the operator finds the cause in the log of the agent.'

const modelBrokeOff =
  'The model broke off in its answer. Send the message again; the operator finds the cause in the log of the agent.'

export interface ModelCallerOptions extends ModelCallLimits {
  /** The model, and those that are called if it fails before it has sent anything. */
  readonly models: readonly [LoopModel, ...LoopModel[]]
  /** What every call has besides the prompt and the tools. */
  readonly settings: ModelSettings
  /** For the first call: later ones are free, so that the model can end. */
  readonly toolChoice: LanguageModelV4CallOptions['toolChoice']
  /** The form of a structured answer. Its text is not sent to the caller. */
  readonly responseFormat: LanguageModelV4CallOptions['responseFormat']
  readonly response: ResponseArtifact
  readonly output: LoopOutput
  readonly questions: Questions
  /** The prompt up to the caller's message. A resumed turn needs it only when it calls the model again. */
  readonly preparePrompt: () => Promise<LanguageModelV4Message[]>
  /** Model answers and tool results since then. */
  readonly messages: readonly LanguageModelV4Message[]
  readonly observer: LoopObserver | undefined
}

/** Settings of the model, as AI SDK providers understand them. */
export type ModelSettings = Pick<
  LanguageModelV4CallOptions,
  | 'temperature'
  | 'maxOutputTokens'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'stopSequences'
  | 'seed'
  | 'reasoning'
  | 'headers'
  | 'providerOptions'
>

export interface ModelCallLimits {
  /** Maximum number of characters that the model may send. */
  readonly maxTextLength: number
  readonly maxToolCalls: number
  readonly modelRetries: number
  readonly report: ReportFailure
  readonly timeout: ModelTimeout
  readonly abortListeners: AbortListeners
}

/** The model's answer, or the error text for the caller. */
export type ModelAnswer = (ModelStep | { readonly failed: string }) & {
  /** The answer comes from the journal: an earlier process received it. */
  readonly isReplayed?: true
}

/** Returns the model's next answer, and emits it unless it comes from the journal. */
export type ModelCaller = (tools: LanguageModelV4FunctionTool[]) => Promise<ModelAnswer>

export function createModelCaller(
  options: ModelCallerOptions,
  { journal, settled, addUsage }: Invocation,
): ModelCaller {
  const {
    models,
    settings,
    toolChoice,
    responseFormat,
    response,
    output,
    questions,
    preparePrompt,
    messages,
    timeout,
    observer,
  } = options
  let prompt: LanguageModelV4Message[] | undefined
  let step = 0

  // State of the current step: the journal mark of its events, text that is held back, and what it has sent so far.
  let mark: string | undefined
  let heldText: string[] | undefined
  let fileCount = 0
  let hasOutput = false
  const listener = {
    hasOutput: () => hasOutput,
    onText(delta: string) {
      hasOutput = true
      if (responseFormat) return
      if (heldText) heldText.push(delta)
      else response.write(delta, mark)
    },
    onReasoning(text: string) {
      hasOutput = true
      output.progress(text, { type: 'reasoning' }, mark)
    },
    onFile(file: LanguageModelV4File) {
      hasOutput = true
      output.artifact(`file-${step}`, ++fileCount, { name: 'file', parts: [filePart(file)] }, mark)
    },
  }

  /** Not async: every additional promise costs time in every step. */
  function call(tools: LanguageModelV4FunctionTool[]): Promise<ModelAnswer> {
    if (!prompt) return prepareAndCall(tools)
    // Redaction finds a secret only in the complete text, not in its chunks.
    heldText = questions.hasSecret() ? [] : undefined
    fileCount = 0
    hasOutput = false
    const callOptions = {
      ...settings,
      ...defined({ responseFormat, toolChoice: step === 1 && tools.length > 0 ? toolChoice : undefined }),
      prompt: prompt.concat(messages),
      tools: tools.length > 0 ? tools : undefined,
      abortSignal: timeout.signal,
    }
    const [first, ...others] = models
    const answer = others.reduce(
      (previous, model) => previous.then((failed) => callFallback(failed, model, callOptions)),
      callOne(first, callOptions),
    )
    return heldText ? answer.then(emitHeldText) : answer
  }

  function callFallback(
    previous: ModelAnswer,
    model: LoopModel,
    callOptions: LanguageModelV4CallOptions,
  ): ModelAnswer | Promise<ModelAnswer> {
    return 'failed' in previous && !hasOutput && !timeout.signal.aborted ? callOne(model, callOptions) : previous
  }

  function callOne(model: LoopModel, callOptions: LanguageModelV4CallOptions): Promise<ModelAnswer> {
    const work = (onRetry?: () => void) => callWithRetries(model, callOptions, listener, options, onRetry)
    const answer = observer ? observeModel(model, observer, callOptions, work) : work()
    return addUsage ? answer.then((each) => countUsage(model, each)) : answer
  }

  async function countUsage({ modelId }: LoopModel, answer: ModelAnswer): Promise<ModelAnswer> {
    if ('failed' in answer || answer.inputTokens + answer.outputTokens === 0) return answer
    const { inputTokens, outputTokens } = answer
    await addUsage?.({ model: modelId, inputTokens, outputTokens }, mark)
    return answer
  }

  async function prepareAndCall(tools: LanguageModelV4FunctionTool[]): Promise<ModelAnswer> {
    prompt = await preparePrompt()
    return await call(tools)
  }

  function emitHeldText(answer: ModelAnswer): ModelAnswer {
    if (heldText && heldText.length > 0) response.write(heldText.join(''), mark)
    return answer
  }

  async function callOrReplay(journalStep: JournalStep, tools: LanguageModelV4FunctionTool[]): Promise<ModelAnswer> {
    let isLive = false
    const answer = await journalAnswer(journalStep, `model ${step}`, async (stepMark) => {
      isLive = true
      mark = stepMark
      const live = await call(tools)
      // The events of a step are stored before the step itself.
      await settled?.()
      return live
    })
    if (isLive) return answer
    if (!('failed' in answer) && !responseFormat) response.restore(answer.text)
    return { ...answer, isReplayed: true }
  }

  return (tools) => {
    step++
    return journal ? callOrReplay(journal, tools) : call(tools)
  }
}

/** Observes a loop's work: its turn, or the loop's own telemetry if it has no turn. */
export type LoopObserver = Pick<Turn, 'observe' | 'trace'>

export interface LoopTelemetry {
  readonly telemetry: Telemetry
  /** Name of the loop. */
  readonly name: string
}

/** Observes a loop without an agent as if it were a turn of an agent. */
export function observeLoop(
  { telemetry, name }: LoopTelemetry,
  { taskId, contextId, trace: parent }: Invocation,
  emit: Emit,
  work: (observer: LoopObserver, emit: Emit) => Promise<void>,
): Promise<void> {
  const activity = { type: 'turn', agent: name, taskId, contextId, attempt: 1 } as const
  return observe(telemetry, activity, parent, async (span) => {
    const trace = span?.trace ?? parent
    const observer: LoopObserver = {
      trace,
      observe: (inner, act) => observe(telemetry, inner, trace, act),
    }
    await work(observer, (event) => {
      if (event.type === 'status') span?.addDetails({ state: event.status.state })
      emit(event)
    })
  })
}

/** Observes a tool run. The tool's error may contain its arguments, so telemetry receives a general one. */
export function observeTool<T>(
  { toolName, toolCallId, input }: ToolCall,
  observer: LoopObserver,
  act: (trace: Trace | undefined) => T | Promise<T>,
): Promise<T> {
  return observer.observe({ type: 'tool', tool: toolName, callId: toolCallId }, async (span) => {
    if (span?.keepsContent) span.addDetails({ input })
    try {
      const output = await act(span?.trace ?? observer.trace)
      if (span?.keepsContent) span.addDetails({ output })
      return output
    } catch (error) {
      if (span?.keepsContent) span.addDetails({ error })
      span?.end(new A2AError('tool-failed', 'The tool failed.'))
      throw error
    }
  })
}

type Emit = (event: StatusEvent | ArtifactEvent) => void

/** Models of specification v3 send the bytes or the base64 themselves. */
function filePart({
  mediaType,
  data,
}: {
  readonly mediaType: string
  readonly data: LanguageModelV4File['data'] | string | Uint8Array
}): Part {
  if (typeof data === 'string') return { raw: data, mediaType }
  if (data instanceof Uint8Array) return { raw: toBase64(data), mediaType }
  if (data.type === 'url') return { url: `${data.url}`, mediaType }
  return { raw: typeof data.data === 'string' ? data.data : toBase64(data.data), mediaType }
}

/** Retries only while the model has sent nothing and its provider marks the error as retryable. */
function callWithRetries(
  model: LoopModel,
  options: LanguageModelV4CallOptions,
  listener: ModelListener & { readonly hasOutput: () => boolean },
  limits: ModelCallLimits,
  onRetry?: () => void,
  attempt = 0,
): Promise<ModelAnswer> {
  return streamStep(model, options, listener, limits).catch(async (error): Promise<ModelAnswer> => {
    const { modelRetries, report } = limits
    const { signal } = limits.abortListeners
    signal.throwIfAborted()
    const hasOutput = listener.hasOutput()
    const isRetried = !hasOutput && attempt < modelRetries && isRetryable(error)
    report({
      error,
      message: isRetried ? 'a model call failed; it is retried' : 'a model call failed',
      level: isRetried ? 'warn' : 'error',
      fields: { provider: model.provider, model: model.modelId },
    })
    if (isRetried) {
      onRetry?.()
      await sleep(500 * 2 ** attempt, signal, systemClock)
      signal.throwIfAborted()
      return await callWithRetries(model, options, listener, limits, onRetry, attempt + 1)
    }
    // Provider errors may contain URLs and keys, so callers do not see them.
    if (error instanceof A2AError) return { failed: error.message }
    return { failed: hasOutput ? modelBrokeOff : modelFailed }
  })
}

/** AI SDK provider errors have this member. */
function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'isRetryable' in error && error.isRetryable === true
}

function observeModel(
  model: LoopModel,
  observer: LoopObserver,
  { prompt }: LanguageModelV4CallOptions,
  work: (onRetry?: () => void) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  return observer.observe({ type: 'model', provider: model.provider, model: model.modelId }, async (span) => {
    let retries = 0
    const answer = await work(() => span?.addDetails({ retries: ++retries }))
    // The messages before the last one are in the requests before, or in the task.
    if (span?.keepsContent) span.addDetails({ input: prompt.at(-1)?.content, output: contentOf(answer) })
    if ('failed' in answer) {
      span?.end(new A2AError('invalid-agent-response', answer.failed))
      return answer
    }
    const { inputTokens, outputTokens, finish } = answer
    span?.addDetails({ inputTokens, outputTokens, finish })
    return answer
  })
}

function contentOf(answer: ModelAnswer): unknown {
  if ('failed' in answer) return undefined
  const { text, calls } = answer
  return calls.length > 0 ? { text, calls: calls.map(({ toolName, input }) => ({ toolName, input })) } : text
}

/** A model answer is JSON, although its type does not say so. */
async function journalAnswer(
  journal: JournalStep,
  name: string,
  work: (mark: string) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  return (await journal(name, async (mark) => (await work(mark)) as unknown as JsonObject)) as unknown as ModelAnswer
}
