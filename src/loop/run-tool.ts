import type { Turn } from '../agent/turn.ts'
import type { Journal } from '../agent/work.ts'
import type { JsonObject } from '../protocol/model.ts'
import type { Trace } from '../protocol/trace.ts'
import type { Brake } from './brake.ts'
import { type Limit, runWithin } from './limit.ts'
import type { ToolCall } from './model-step.ts'
import type { WithArguments } from './read-call.ts'
import { turnWithin } from './step-turn.ts'
import type { Telling } from './telling.ts'
import type { LocalTool, ToolContext } from './tool.ts'
import { pack, unpack } from './tool-result.ts'
import { type Watcher, watchedTool } from './watched.ts'

/** Where tools run. */
export interface Workshop {
  readonly taskId: string
  readonly contextId: string
  readonly turn?: Turn | undefined
  readonly journal?: Journal | undefined
  readonly watcher: Watcher | undefined
  /** Of who invoked the loop, where nobody watches. */
  readonly trace: Trace | undefined
  readonly telling: Telling
  readonly brake: Brake
  /** Milliseconds, of tools that say nothing else. */
  readonly toolTimeout: number
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

/** Once, also if the turn is resumed: what it has returned, or why it failed, is stored. */
export async function runToolOnce(
  journal: Journal,
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

const argumentsGone = 'its arguments were given to a process that is gone, and are never stored: ask for them again.'

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
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

/** What is told of a call, beside words. */
export function noteOf({ toolName, toolCallId }: ToolCall): JsonObject {
  return { type: 'tool', tool: toolName, toolCallId }
}
