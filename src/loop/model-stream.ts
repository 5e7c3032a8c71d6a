import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4File,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { A2AError } from '../protocol/errors.ts'

/** Who must know when a signal aborts. One listener for all of them: those of a signal cost more than a step does. */
export interface AbortListeners {
  readonly signal: AbortSignal
  /** Gives the means to call it off. */
  onStop(act: (reason: unknown) => void): () => void
  close(): void
}

export function createAbortListeners(signal: AbortSignal): AbortListeners {
  const acts = new Set<(reason: unknown) => void>()
  const stop = () => {
    for (const act of [...acts]) act(signal.reason)
  }
  signal.addEventListener('abort', stop, { once: true })
  return {
    signal,
    onStop(act) {
      if (signal.aborted) act(signal.reason)
      else acts.add(act)
      return () => void acts.delete(act)
    },
    close: () => signal.removeEventListener('abort', stop),
  }
}

/** Cuts a model off that says nothing any more, or that nobody wants to hear. After that it is not asked again. */
export interface ModelTimeout {
  readonly signal: AbortSignal
  /** From now on, until it is told to rest, silence counts. */
  listen(): void
  rest(): void
  heard(): void
  /** Called when it is cut. One at a time: a model is asked once at a time. */
  whenCut: ((reason: unknown) => void) | undefined
  close(): void
}

/** Cut between one and two times that silence: a word costs no more than being counted. */
export function createHearing(brake: AbortListeners, silence: number): ModelTimeout {
  const controller = new AbortController()
  let timer: ReturnType<typeof setInterval> | undefined
  let isListening = false
  let words = 0
  let before = 0

  function cut(reason: unknown): void {
    controller.abort(reason)
    hearing.whenCut?.(reason)
  }

  /** Steps follow each other faster than it looks: the timer of one does for the next. */
  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function look(): void {
    if (!isListening) stop()
    else if (words === before) cut(new A2AError('timeout', `The model said nothing for ${silence / 1000} seconds.`))
    before = words
  }

  const release = brake.onStop(cut)
  const hearing: ModelTimeout = {
    signal: controller.signal,
    whenCut: undefined,
    listen() {
      words++
      isListening = true
      if (Number.isFinite(silence)) timer ??= setInterval(look, silence)
    },
    rest() {
      isListening = false
    },
    heard: () => void words++,
    close() {
      stop()
      release()
    },
  }
  return hearing
}

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

/** What a model has said in one go. It is JSON, so that it can be stored. */
export interface ModelStep {
  /** Without its calls. */
  readonly said: Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly inputTokens: number
  readonly outputTokens: number
  readonly finish: string
}

/**
 * Asks the model once, and tells what it says while it says it. It may say so many characters. One function: every word
 * of the model comes through here.
 */
export async function takeStep(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  { onText, onReasoning, onFile }: ModelListener,
  { hearing, maxTextLength }: { readonly hearing: ModelTimeout; readonly maxTextLength: number },
): Promise<ModelStep> {
  const calls: ToolCall[] = []
  const said: ModelStep['said'] = []
  let text = ''
  let reasoning = ''
  let room = maxTextLength
  let usage: LanguageModelV4Usage | undefined
  let finish: string | undefined
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined
  const leave = () => void reader?.cancel('left').catch(() => {})
  try {
    const { stream } = await open(model, options, hearing)
    reader = stream.getReader()
    // Also of a model that does not listen to its signal.
    hearing.whenCut = leave
    hearing.signal.throwIfAborted()
    for (;;) {
      const { done, value: part } = await reader.read()
      if (done) break
      hearing.heard()
      switch (part.type) {
        case 'text-delta':
          if (part.delta === '') break
          room -= part.delta.length
          text += part.delta
          onText(part.delta)
          break
        case 'reasoning-delta':
          room -= part.delta.length
          reasoning += part.delta
          break
        case 'reasoning-end':
          if (reasoning !== '') onReasoning(reasoning)
          said.push(reasoned(reasoning, part.providerMetadata))
          reasoning = ''
          break
        case 'tool-call': {
          if (part.providerExecuted) break
          room -= part.input.length
          const { toolName, input, providerMetadata } = part
          const toolCallId = distinct(part.toolCallId, calls)
          calls.push(
            providerMetadata ? { toolCallId, toolName, input, providerMetadata } : { toolCallId, toolName, input },
          )
          break
        }
        case 'file':
          onFile(part)
          break
        case 'finish':
          usage = part.usage
          finish = part.finishReason.unified
          break
        case 'error':
          throw part.error
      }
      if (room < 0) throw new A2AError('internal', 'The model said more than it may, and did not stop.')
    }
    hearing.signal.throwIfAborted()
  } catch (error) {
    leave()
    throw error
  } finally {
    hearing.whenCut = undefined
    hearing.rest()
  }
  if (finish === undefined) throw new Error('the stream of the model ended before its end')
  if (reasoning !== '') onReasoning(reasoning)
  if (text !== '') said.push({ type: 'text', text })
  const inputTokens = usage?.inputTokens.total ?? 0
  const outputTokens = usage?.outputTokens.total ?? 0
  return { said, text, calls, inputTokens, outputTokens, finish }
}

/** A model that does not even begin is cut, too. */
function open(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  hearing: ModelTimeout,
): Promise<LanguageModelV4StreamResult> {
  return new Promise((resolve, reject) => {
    hearing.signal.throwIfAborted()
    hearing.whenCut = reject
    hearing.listen()
    model.doStream(options).then(resolve, reject)
  })
}

function reasoned(text: string, about: SharedV4ProviderMetadata | undefined): ModelStep['said'][number] {
  return about ? { type: 'reasoning', text, providerOptions: about } : { type: 'reasoning', text }
}

/** Results are found by these ids; not every model gives each call one of its own. */
function distinct(id: string, calls: readonly ToolCall[]): string {
  const isTaken = id === '' || calls.some(({ toolCallId }) => toolCallId === id)
  return isTaken ? `${id || 'call'}-${calls.length + 1}` : id
}
