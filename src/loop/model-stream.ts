import type {
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4File,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { A2AError } from '../core/protocol/errors.ts'
import { toV3Prompt } from './prompt.ts'

/** A model of a provider for AI SDK 6 (specification v3) or 7 (v4). */
export type LoopModel = LanguageModelV4 | LanguageModelV3

export interface ModelListener {
  readonly onText: (delta: string) => void
  readonly onReasoning: (text: string) => void
  readonly onFile: (file: LanguageModelV4File) => void
}

export interface ToolCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: string
  readonly providerMetadata?: SharedV4ProviderMetadata
}

/** One answer of the model. It is JSON, and stored in the journal in this form. */
export interface ModelStep {
  /** Reasoning and text, without tool calls. */
  readonly content: Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly inputTokens: number
  readonly outputTokens: number
  readonly finish: string
}

export interface StepLimits {
  readonly timeout: ModelTimeout
  /** Maximum number of characters in one step. Every chunk counts as at least one, whatever its type. */
  readonly maxTextLength: number
  readonly maxToolCalls: number
}

/** Files that a model may send in one step. */
const maxFiles = 100

/** Calls the model once and reports its output as it arrives. A single function because every chunk passes through it. */
export async function streamStep(
  model: LoopModel,
  options: LanguageModelV4CallOptions,
  { onText, onReasoning, onFile }: ModelListener,
  { timeout, maxTextLength, maxToolCalls }: StepLimits,
): Promise<ModelStep> {
  const calls: ToolCall[] = []
  const content: ModelStep['content'] = []
  let text = ''
  let reasoning = ''
  let charactersLeft = maxTextLength
  let inputLeft = maxTextLength
  let files = 0
  let usage: LanguageModelV4Usage | undefined
  let finish: string | undefined
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined
  const cancel = () => void reader?.cancel('left').catch(() => {})
  try {
    const { stream } = await openStream(model, options, timeout)
    reader = stream.getReader()
    // Not every model observes its abort signal.
    timeout.onAbort = cancel
    timeout.signal.throwIfAborted()
    for (;;) {
      const { done, value: part } = await reader.read()
      if (done) break
      charactersLeft--
      // Raw chunks, metadata and empty text are no sign of progress: a model could send them forever.
      if (hasContent(part)) timeout.keepAlive()
      switch (part.type) {
        case 'text-delta':
          if (part.delta === '') break
          charactersLeft -= part.delta.length - 1
          text += part.delta
          onText(part.delta)
          break
        case 'tool-input-delta':
          // The complete input follows as a tool call and counts there.
          inputLeft -= part.delta.length
          break
        case 'reasoning-delta':
          charactersLeft -= part.delta.length
          reasoning += part.delta
          break
        case 'reasoning-end':
          if (reasoning !== '') onReasoning(reasoning)
          content.push(reasoningPart(reasoning, part.providerMetadata))
          reasoning = ''
          break
        case 'tool-call': {
          if (part.providerExecuted) break
          charactersLeft -= part.input.length
          if (calls.length >= maxToolCalls) throw tooManyCalls(maxToolCalls)
          const { toolName, input, providerMetadata } = part
          const toolCallId = uniqueId(part.toolCallId, calls)
          calls.push(
            providerMetadata ? { toolCallId, toolName, input, providerMetadata } : { toolCallId, toolName, input },
          )
          break
        }
        case 'file':
          if (++files > maxFiles)
            throw new A2AError('internal', `The model sent more than ${maxFiles} files in one step.`)
          onFile(part)
          break
        case 'finish':
          usage = part.usage
          finish = part.finishReason.unified
          break
        case 'error':
          throw part.error
      }
      if (charactersLeft < 0 || inputLeft < 0) {
        throw new A2AError('internal', `The model sent more than ${maxTextLength} characters or chunks in one step.`)
      }
    }
    timeout.signal.throwIfAborted()
  } catch (error) {
    cancel()
    throw error
  } finally {
    timeout.onAbort = undefined
    timeout.stop()
  }
  if (finish === undefined) throw new Error('the stream of the model ended without a finish part')
  if (reasoning !== '') onReasoning(reasoning)
  if (text !== '') content.push({ type: 'text', text })
  const inputTokens = usage?.inputTokens.total ?? 0
  const outputTokens = usage?.outputTokens.total ?? 0
  return { content, text, calls, inputTokens, outputTokens, finish }
}

/** The error for a model that calls tools again and again. */
export function tooManyCalls(maxToolCalls: number): A2AError {
  return new A2AError('internal', `The model called tools more than ${maxToolCalls} times.`)
}

function hasContent(part: LanguageModelV4StreamPart): boolean {
  if ('delta' in part) return part.delta !== ''
  return part.type !== 'raw' && part.type !== 'response-metadata' && part.type !== 'stream-start'
}

/**
 * Aborts a model call when the model sends nothing for too long, when one answer takes too long, or when the loop is
 * aborted. It cannot be reused after that.
 */
export interface ModelTimeout {
  readonly signal: AbortSignal
  /** Starts the timeout for a model call. */
  start(): void
  stop(): void
  /** Records that the model has sent something. */
  keepAlive(): void
  /** Called on abort. A single listener, because a loop calls the model once at a time. */
  onAbort: ((reason: unknown) => void) | undefined
  close(): void
}

export interface ModelTimes {
  /** Milliseconds that the model may send nothing. */
  readonly modelTimeout: number
  /** Milliseconds that one answer of the model may take. */
  readonly answerTimeout: number
}

/** Aborts after one to two times the shorter time, so that a chunk costs no more than an increment. */
export function createModelTimeout(abortListeners: AbortListeners, times: ModelTimes): ModelTimeout {
  const { modelTimeout, answerTimeout } = times
  const interval = Math.min(modelTimeout, answerTimeout)
  const controller = new AbortController()
  let timer: ReturnType<typeof setInterval> | undefined
  let isRunning = false
  let activity = 0
  let lastActivity = 0
  /** Full intervals without content, and since the start of the answer. */
  let silent = 0
  let running = 0

  function abort(reason: unknown): void {
    controller.abort(reason)
    timeout.onAbort?.(reason)
  }

  function clear(): void {
    clearInterval(timer)
    timer = undefined
  }

  /** The timer outlives a step, because the next step usually starts before it fires. */
  function check(): void {
    if (!isRunning) {
      clear()
      return
    }
    running++
    silent = activity === lastActivity ? silent + 1 : 0
    lastActivity = activity
    if (silent * interval >= modelTimeout)
      abort(new A2AError('timeout', `The model sent nothing for ${modelTimeout / 1000} seconds.`))
    else if (running > 1 && (running - 1) * interval >= answerTimeout)
      abort(new A2AError('timeout', `The answer of the model took longer than ${answerTimeout / 1000} seconds.`))
  }

  const release = abortListeners.onAbort(abort)
  const timeout: ModelTimeout = {
    signal: controller.signal,
    onAbort: undefined,
    start() {
      activity++
      isRunning = true
      running = 0
      if (Number.isFinite(interval)) timer ??= setInterval(check, interval)
    },
    stop() {
      isRunning = false
    },
    keepAlive: () => void activity++,
    close() {
      clear()
      release()
    },
  }
  return timeout
}

/** One listener on a signal for all its subscribers: adding one per step to the signal costs more than the step. */
export interface AbortListeners {
  readonly signal: AbortSignal
  /** Calls the listener on abort, or now if the signal is aborted. Returns a function that removes it. */
  onAbort(listener: (reason: unknown) => void): () => void
  close(): void
}

export function createAbortListeners(signal: AbortSignal): AbortListeners {
  const listeners = new Set<(reason: unknown) => void>()
  const notify = () => {
    for (const listener of [...listeners]) listener(signal.reason)
  }
  signal.addEventListener('abort', notify, { once: true })
  return {
    signal,
    onAbort(listener) {
      if (signal.aborted) listener(signal.reason)
      else listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: () => signal.removeEventListener('abort', notify),
  }
}

/** The timeout also covers a model that does not even open its stream. */
function openStream(
  model: LoopModel,
  options: LanguageModelV4CallOptions,
  timeout: ModelTimeout,
): Promise<LanguageModelV4StreamResult> {
  return new Promise((resolve, reject) => {
    timeout.signal.throwIfAborted()
    timeout.onAbort = reject
    timeout.start()
    callModel(model, options).then(resolve, reject)
  })
}

/** The two specifications differ in files only, which `filePart` reads in both forms. */
function callModel(
  model: LoopModel,
  { prompt, ...options }: LanguageModelV4CallOptions,
): PromiseLike<LanguageModelV4StreamResult> {
  if (model.specificationVersion !== 'v3') return model.doStream({ prompt, ...options })
  return model.doStream({ ...options, prompt: toV3Prompt(prompt) }) as PromiseLike<LanguageModelV4StreamResult>
}

function reasoningPart(text: string, metadata: SharedV4ProviderMetadata | undefined): ModelStep['content'][number] {
  return metadata ? { type: 'reasoning', text, providerOptions: metadata } : { type: 'reasoning', text }
}

/** Results refer to calls by id, and not every model gives each call its own. */
function uniqueId(id: string, calls: readonly ToolCall[]): string {
  const isTaken = id === '' || calls.some(({ toolCallId }) => toolCallId === id)
  return isTaken ? `${id || 'call'}-${calls.length + 1}` : id
}
