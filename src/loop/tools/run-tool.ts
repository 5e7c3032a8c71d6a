import type { LanguageModelV4ToolCallPart } from '@ai-sdk/provider'
import type { JournalStep } from '../../core/agent/agent-function.ts'
import { rejected, type Turn } from '../../core/agent/turn.ts'
import { isObject, type JsonObject } from '../../core/base/json.ts'
import type { Trace } from '../../core/base/trace-context.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import { toolUse } from '../../core/protocol/extensions/client-tools.ts'
import { type Part, redactionMark } from '../../core/protocol/model.ts'
import { type LoopObserver, observeTool } from '../call-model.ts'
import type { AbortListeners, ToolCall } from '../model-stream.ts'
import type { LoopOutput } from '../output.ts'
import type { ReportFailure } from '../report.ts'
import type { LocalTool, ToolContext } from './tool.ts'
import { decodeResult, encodeResult } from './tool-result.ts'

const redactedArguments = 'its arguments were secret and are never stored: ask for them again.'

/** A tool call with its parsed arguments, or with the reason why they cannot be used. */
export type DecodedCall = ValidCall | { readonly call: ToolCall; readonly failure: string }

export interface ValidCall {
  readonly call: ToolCall
  readonly input: JsonObject
  /** The arguments come from the journal, which redacts the secrets in them. */
  readonly isRedacted: boolean
}

export function decodeToolCall(call: ToolCall, isReplayed: boolean): DecodedCall {
  const { toolName, input: text } = call
  let input: unknown
  try {
    input = JSON.parse(text === '' ? '{}' : text)
  } catch {
    return { call, failure: `The arguments of "${toolName}" are not JSON: call it again with a JSON object.` }
  }
  if (!isObject(input)) return { call, failure: `The arguments of "${toolName}" must be a JSON object.` }
  return { call, input, isRedacted: isReplayed && text.includes(redactionMark) }
}

/** The call as part of the next prompt. Providers require an object, even for invalid arguments. */
export function toPromptPart(decoded: DecodedCall): LanguageModelV4ToolCallPart {
  const { toolCallId, toolName, providerMetadata } = decoded.call
  const part = { type: 'tool-call' as const, toolCallId, toolName, input: 'input' in decoded ? decoded.input : {} }
  return providerMetadata ? { ...part, providerOptions: providerMetadata } : part
}

/** The call as a part of a message. */
export function toolUsePart(decoded: DecodedCall): Part {
  const { toolCallId: toolUseId, toolName: name } = decoded.call
  return { data: { toolUseId, name, arguments: 'input' in decoded ? decoded.input : {} }, mediaType: toolUse }
}

export interface ToolRunContext {
  readonly taskId: string
  readonly contextId: string
  readonly turn?: Turn | undefined
  readonly journal?: JournalStep | undefined
  readonly observer: LoopObserver | undefined
  /** Trace of the invocation, used without an observer. */
  readonly trace: Trace | undefined
  readonly output: LoopOutput
  readonly abortListeners: AbortListeners
  readonly logFailure: ReportFailure
  /** Default timeout of tools, in milliseconds. */
  readonly toolTimeout: number
}

/** Runs a tool once, even if the turn is resumed: its result or error is stored. */
export async function runToolOnce(
  journal: JournalStep,
  tool: LocalTool,
  input: unknown,
  { call, isRedacted }: ValidCall,
  context: ToolRunContext,
): Promise<unknown> {
  const { abortListeners, turn } = context
  const stepContext = { ...context, turn: turn && turnWithinStep(turn, tool.name) }
  const stored = await journal(`tool ${tool.name} ${call.toolCallId}`, async (mark): Promise<JsonObject> => {
    if (isRedacted) return { failed: redactedArguments }
    try {
      return encodeResult(await runTool(tool, input, call, stepContext, mark))
    } catch (error) {
      abortListeners.signal.throwIfAborted()
      logToolFailure(error, tool.name, context)
      return { failed: messageOf(error) }
    }
  })
  if (typeof stored.failed === 'string') throw new Error(stored.failed)
  return decodeResult(stored)
}

/** Returns the value of a synchronous tool directly, and a promise only for an asynchronous one. */
export function runTool(
  tool: LocalTool,
  input: unknown,
  call: ToolCall,
  context: ToolRunContext,
  mark?: string,
): unknown {
  const { journal, abortListeners, observer, toolTimeout } = context
  // A durable turn may be suspended while it waits for its caller; its work must not time out meanwhile.
  const timeout = journal && tool.usesTurn ? Number.POSITIVE_INFINITY : (tool.timeout ?? toolTimeout)
  const toolSignal = new LazySignal()
  const run = (trace: Trace | undefined) => tool.run(input, new ToolRun(context, call, toolSignal, mark, trace))
  const result = observer ? observeTool(call, observer, run) : run(context.trace)
  return isThenable(result) ? settleWithin(timeout, abortListeners, toolSignal, result) : result
}

/** The model reads the message of the error; the operator also gets its cause and its stack trace. */
export function logToolFailure(error: unknown, tool: string, { logFailure }: Pick<ToolRunContext, 'logFailure'>): void {
  logFailure({ error, message: 'a tool failed', level: 'warn', fields: { tool } })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Metadata of progress messages about a call. */
export function progressDetails({ toolName, toolCallId }: ToolCall): JsonObject {
  return { type: 'tool', tool: toolName, toolCallId }
}

/** Creates its signal on first use. */
class LazySignal {
  #controller: AbortController | undefined
  #aborted: { readonly reason: unknown } | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#aborted) this.#controller.abort(this.#aborted.reason)
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#aborted = { reason }
    this.#controller?.abort(reason)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** Rejects on timeout and abort, even if the tool ignores its signal. */
function settleWithin(
  timeout: number,
  abortListeners: AbortListeners,
  toolSignal: LazySignal,
  result: PromiseLike<unknown>,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = (reason: unknown) => {
      toolSignal.abort(reason)
      reject(reason)
    }
    const expire = () => abort(new A2AError('timeout', `it took longer than ${timeout / 1000} seconds.`))
    const timer = Number.isFinite(timeout) ? setTimeout(expire, timeout) : undefined
    const removeListener = abortListeners.onAbort(abort)
    const release = () => {
      clearTimeout(timer)
      removeListener()
    }
    result.then(
      (value) => {
        release()
        resolve(value)
      },
      (error) => {
        release()
        reject(error)
      },
    )
  })
}

/** A class, so that the signal is created only for tools that read it: most finish before anything could abort them. */
class ToolRun implements ToolContext {
  readonly taskId: string
  readonly contextId: string
  readonly toolCallId: string
  readonly progress: ToolContext['progress']
  readonly artifact: ToolContext['artifact']
  readonly trace: Trace | undefined
  declare readonly turn?: Turn
  readonly #signal: LazySignal

  constructor(
    { taskId, contextId, output, turn }: ToolRunContext,
    call: ToolCall,
    signal: LazySignal,
    mark: string | undefined,
    trace: Trace | undefined,
  ) {
    this.taskId = taskId
    this.contextId = contextId
    this.toolCallId = call.toolCallId
    let artifacts = 0
    this.progress = (text) => output.progress(text, progressDetails(call), mark)
    this.artifact = (content) => output.artifact(call.toolCallId, ++artifacts, content, mark)
    this.trace = trace
    if (turn) this.turn = turn
    this.#signal = signal
  }

  get signal(): AbortSignal {
    return this.#signal.signal
  }
}

/** The turn for a tool whose run is a single journal step: a step cannot contain questions, calls or other steps. */
function turnWithinStep(turn: Turn, tool: string): Turn {
  const refuse = (method: string) => () =>
    rejected(`turn.${method}() is not for a tool that is stored as a whole: give "${tool}" the option usesTurn: true.`)
  return {
    ...turn,
    ask: refuse('ask'),
    step: refuse('step'),
    requireInput: refuse('requireInput'),
    requireAuth: refuse('requireAuth'),
    callAll: refuse('callAll'),
    callFirst: refuse('callFirst'),
    call: () => {
      const refusal = refuse('call')()
      return Object.assign(refusal, {
        async *[Symbol.asyncIterator]() {
          yield await refusal
        },
      })
    },
  }
}
