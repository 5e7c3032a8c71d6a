import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { describeIssues } from '../agent/check-answer.ts'
import type { Turn } from '../agent/turn.ts'
import type { Journal } from '../agent/work.ts'
import type { JsonObject } from '../protocol/model.ts'
import { redactionMark } from '../protocol/redacted.ts'
import type { Brake } from './brake.ts'
import { type Limit, runWithin } from './limit.ts'
import type { ToolCall } from './model-step.ts'
import type { Questions } from './questions.ts'
import { turnWithin } from './step-turn.ts'
import type { LocalTool, Tool, ToolContext } from './tool.ts'
import type { ToolInput } from './tool-input.ts'
import { pack, toOutput, unpack } from './tool-result.ts'
import { watchedTool } from './watched.ts'

export type Output = LanguageModelV4ToolResultOutput

export interface CallContext {
  readonly tools: ReadonlyMap<string, Tool>
  readonly questions: Questions
  readonly brake: Brake
  readonly journal: Journal | undefined
  /** The model has called for it in a process that is gone. */
  readonly isRecalled: boolean
  /** For a run whose events bear that mark. */
  readonly contextFor: (mark: string | undefined) => Omit<ToolContext, 'signal'>
  /** Milliseconds, of tools that say nothing else. */
  readonly timeout: number
}

/** Does what the model asks for. Whatever goes wrong is a result: the model can put it right. */
export async function callTool(call: ToolCall, input: ToolInput, context: CallContext): Promise<Output> {
  const { tools, questions, brake } = context
  const tool = tools.get(call.toolName)
  if (!tool)
    return failed(
      `There is no tool "${call.toolName.slice(0, 64)}". There are: ${[...tools.keys()].join(', ') || 'none'}.`,
    )
  const checking = checkInput(tool, input)
  const checked = checking instanceof Promise ? await checking : checking
  if ('problem' in checked) return failed(checked.problem)
  try {
    if (tool.needsApproval && !(await questions.approve(tool, call.toolCallId, checked.given))) {
      return { type: 'execution-denied', reason: 'The user has refused this call.' }
    }
    if (tool.type === 'client') return await questions.call(tool, call.toolCallId, checked.given)
    return toOutput(await run(tool, checked.value, call, context))
  } catch (error) {
    brake.signal.throwIfAborted()
    return failed(`The tool "${tool.name}" failed: ${reasonOf(error)}`)
  }
}

/** Once, where turns are resumed: then what it has returned, or why it failed, is stored. */
async function run(tool: LocalTool, input: unknown, call: ToolCall, context: CallContext): Promise<unknown> {
  const { journal, brake, timeout, contextFor } = context
  const work = (mark?: string) => {
    const given = contextFor(mark)
    const turn = mark === undefined ? given.turn : given.turn && turnWithin(given.turn, tool.name)
    // A turn that is left while its caller is asked must not be cut then: what it has begun is gone on with.
    const limit = journal && tool.usesTurn ? Number.POSITIVE_INFINITY : (tool.timeout ?? timeout)
    return runWithin(limit, brake, (within) => {
      const act = () => tool.run(input, new ToolRun(given, turn, within))
      return given.turn ? watchedTool(call, given.turn, act) : act()
    })
  }
  if (!journal || tool.usesTurn) return await work()
  const done = await journal(`tool ${tool.name} ${call.toolCallId}`, async (mark): Promise<JsonObject> => {
    if (context.isRecalled && call.input.includes(redactionMark)) return { failed: argumentsGone }
    try {
      return pack(await work(mark))
    } catch (error) {
      brake.signal.throwIfAborted()
      return { failed: reasonOf(error) }
    }
  })
  if (typeof done.failed === 'string') throw new Error(done.failed)
  return unpack(done)
}

/** A class, so that the signal is made only for tools that ask for it: most are done before anybody could stop them. */
class ToolRun implements ToolContext {
  readonly taskId: string
  readonly contextId: string
  readonly toolCallId: string
  readonly progress: ToolContext['progress']
  readonly artifact: ToolContext['artifact']
  declare readonly turn?: Turn
  readonly #limit: Limit

  constructor(given: Omit<ToolContext, 'signal'>, turn: Turn | undefined, limit: Limit) {
    this.taskId = given.taskId
    this.contextId = given.contextId
    this.toolCallId = given.toolCallId
    this.progress = given.progress
    this.artifact = given.artifact
    if (turn) this.turn = turn
    this.#limit = limit
  }

  get signal(): AbortSignal {
    return this.#limit.signal
  }
}

const argumentsGone = 'its arguments were given to a process that is gone, and are never stored: ask for them again.'

type CheckedInput = { readonly value: unknown; readonly given: JsonObject } | { readonly problem: string }

/** Most libraries answer at once. */
function checkInput(tool: Tool, input: ToolInput): CheckedInput | Promise<CheckedInput> {
  if ('problem' in input) return input
  const { given } = input
  const verdict = (result: StandardSchemaV1.Result<unknown>): CheckedInput =>
    result.issues
      ? { problem: `The arguments of "${tool.name}" do not fit: ${describeIssues(result.issues)}.` }
      : { value: result.value, given }
  const result = tool.input['~standard'].validate(given)
  return result instanceof Promise ? result.then(verdict) : verdict(result)
}

function failed(value: string): Output {
  return { type: 'error-text', value }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
