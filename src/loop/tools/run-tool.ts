import type { LanguageModelV4ToolCallPart } from '@ai-sdk/provider'
import type { JournalStep } from '../../agent/agent-function.ts'
import type { Turn } from '../../agent/turn.ts'
import { rejected } from '../../agent/turn-output.ts'
import { isObject, type JsonObject } from '../../base/json.ts'
import type { Trace } from '../../base/trace-context.ts'
import { A2AError } from '../../protocol/errors.ts'
import { redactionMark } from '../../protocol/model.ts'
import { type Watcher, watchedTool } from '../ask-model.ts'
import type { AbortListeners, ToolCall } from '../model-stream.ts'
import type { LoopOutput } from '../output.ts'
import type { LocalTool, ToolContext } from './tool.ts'
import { pack, unpack } from './tool-result.ts'

const argumentsGone = 'its arguments were given to a process that is gone, and are never stored: ask for them again.'

export interface WithArguments {
  readonly call: ToolCall
  readonly given: JsonObject
  /** They held a secret, and were given to a process that is gone. */
  readonly isGone: boolean
}

/** A call with what the model gave as arguments, as far as they are any. */
export type ReadCall = WithArguments | { readonly call: ToolCall; readonly problem: string }

export function readCall(call: ToolCall, isRecalled: boolean): ReadCall {
  const { toolName, input } = call
  let given: unknown
  try {
    given = JSON.parse(input === '' ? '{}' : input)
  } catch {
    return { call, problem: `The arguments of "${toolName}" are no JSON: call it again with a JSON object.` }
  }
  if (!isObject(given)) return { call, problem: `The arguments of "${toolName}" must be a JSON object.` }
  return { call, given, isGone: isRecalled && input.includes(redactionMark) }
}

/** The call as the model is reminded of it. Providers want an object, also of a call that was none. */
export function reminderOf(read: ReadCall): LanguageModelV4ToolCallPart {
  const { toolCallId, toolName, providerMetadata } = read.call
  const reminder = { type: 'tool-call' as const, toolCallId, toolName, input: 'given' in read ? read.given : {} }
  return providerMetadata ? { ...reminder, providerOptions: providerMetadata } : reminder
}

/** Where tools run. */
export interface Workshop {
  readonly taskId: string
  readonly contextId: string
  readonly turn?: Turn | undefined
  readonly journal?: JournalStep | undefined
  readonly watcher: Watcher | undefined
  /** Of who invoked the loop, where nobody watches. */
  readonly trace: Trace | undefined
  readonly telling: LoopOutput
  readonly brake: AbortListeners
  /** Milliseconds, of tools that say nothing else. */
  readonly toolTimeout: number
}

/** Once, also if the turn is resumed: what it has returned, or why it failed, is stored. */
export async function runToolOnce(
  journal: JournalStep,
  tool: LocalTool,
  input: unknown,
  { call, isGone }: WithArguments,
  shop: Workshop,
): Promise<unknown> {
  const { brake, turn } = shop
  const within = { ...shop, turn: turn && turnWithin(turn, tool.name) }
  const done = await journal(`tool ${tool.name} ${call.toolCallId}`, async (mark): Promise<JsonObject> => {
    if (isGone) return { failed: argumentsGone }
    try {
      return pack(await runTool(tool, input, call, within, mark))
    } catch (error) {
      brake.signal.throwIfAborted()
      return { failed: reasonOf(error) }
    }
  })
  if (typeof done.failed === 'string') throw new Error(done.failed)
  return unpack(done)
}

/** Gives what the tool returns: at once what it gives at once. */
export function runTool(tool: LocalTool, input: unknown, call: ToolCall, shop: Workshop, mark?: string): unknown {
  const { journal, brake, watcher, toolTimeout } = shop
  // A turn that is left while its caller is asked must not be cut then: what it has begun is gone on with.
  const timeout = journal && tool.usesTurn ? Number.POSITIVE_INFINITY : (tool.timeout ?? toolTimeout)
  return runWithin(timeout, brake, (limit) => {
    const act = (trace: Trace | undefined) => tool.run(input, new ToolRun(shop, call, limit, mark, trace))
    return watcher ? watchedTool(call, watcher, act) : act(shop.trace)
  })
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** What is told of a call, beside words. */
export function noteOf({ toolName, toolCallId }: ToolCall): JsonObject {
  return { type: 'tool', tool: toolName, toolCallId }
}

/** Gives a piece of work so much time, also if it does not listen to its signal. What is done at once cannot be cut. */
function runWithin(timeout: number, brake: AbortListeners, work: (limit: Limit) => unknown): unknown {
  const limit = new Limit()
  const given = work(limit)
  return isThenable(given) ? settleWithin(timeout, brake, limit, given) : given
}

/** Aborts when the work is cut; made when it is asked for. */
class Limit {
  #controller: AbortController | undefined
  #cut: { readonly reason: unknown } | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#cut) this.#controller.abort(this.#cut.reason)
    return this.#controller.signal
  }

  cut(reason: unknown): void {
    this.#cut = { reason }
    this.#controller?.abort(reason)
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function settleWithin(
  timeout: number,
  brake: AbortListeners,
  limit: Limit,
  given: PromiseLike<unknown>,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const cut = (reason: unknown) => {
      limit.cut(reason)
      reject(reason)
    }
    const expire = () => cut(new A2AError('timeout', `it took longer than ${timeout / 1000} seconds.`))
    const timer = Number.isFinite(timeout) ? setTimeout(expire, timeout) : undefined
    const release = brake.onStop(cut)
    const done = () => {
      clearTimeout(timer)
      release()
    }
    given.then(
      (value) => {
        done()
        resolve(value)
      },
      (error) => {
        done()
        reject(error)
      },
    )
  })
}

/** A class, so that the signal is made only for tools that ask for it: most are done before anybody could stop them. */
class ToolRun implements ToolContext {
  readonly taskId: string
  readonly contextId: string
  readonly toolCallId: string
  readonly progress: ToolContext['progress']
  readonly artifact: ToolContext['artifact']
  readonly trace: Trace | undefined
  declare readonly turn?: Turn
  readonly #limit: Limit

  constructor(
    { taskId, contextId, telling, turn }: Workshop,
    call: ToolCall,
    limit: Limit,
    mark: string | undefined,
    trace: Trace | undefined,
  ) {
    this.taskId = taskId
    this.contextId = contextId
    this.toolCallId = call.toolCallId
    let artifacts = 0
    this.progress = (text) => telling.progress(text, noteOf(call), mark)
    this.artifact = (given) => telling.artifact(call.toolCallId, ++artifacts, given, mark)
    this.trace = trace
    if (turn) this.turn = turn
    this.#limit = limit
  }

  get signal(): AbortSignal {
    return this.#limit.signal
  }
}

/** The turn for a tool whose run is one step of it: within a step there are no questions, calls and other steps. */
function turnWithin(turn: Turn, tool: string): Turn {
  const no = (what: string) => () =>
    rejected(`turn.${what}() is not for a tool that is stored as a whole: give "${tool}" the option usesTurn: true.`)
  return {
    ...turn,
    ask: no('ask'),
    step: no('step'),
    requireInput: no('requireInput'),
    requireAuth: no('requireAuth'),
    callAll: no('callAll'),
    callFirst: no('callFirst'),
    call: () => {
      const rejected = no('call')()
      return Object.assign(rejected, {
        async *[Symbol.asyncIterator]() {
          yield await rejected
        },
      })
    },
  }
}
