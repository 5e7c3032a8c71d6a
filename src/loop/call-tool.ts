import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import { describeIssues } from '../agent/check-answer.ts'
import type { Turn } from '../agent/turn.ts'
import type { Journal } from '../agent/work.ts'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/model.ts'
import { redactionMark } from '../protocol/redacted.ts'
import type { ToolCall } from './model-step.ts'
import type { Questions } from './questions.ts'
import { turnWithin } from './step-turn.ts'
import type { LocalTool, Tool, ToolContext } from './tool.ts'
import { pack, toOutput, unpack } from './tool-result.ts'

export type Output = LanguageModelV4ToolResultOutput

export interface CallContext {
  readonly tools: ReadonlyMap<string, Tool>
  readonly questions: Questions
  readonly signal: AbortSignal
  readonly journal: Journal | undefined
  /** The model has called for it in a process that is gone. */
  readonly isRecalled: boolean
  /** For a run whose events bear that mark. */
  readonly contextFor: (mark: string | undefined) => ToolContext
  /** Milliseconds, of tools that say nothing else. */
  readonly timeout: number
}

/** Does what the model asks for. Whatever goes wrong is a result: the model can put it right. */
export async function callTool(call: ToolCall, context: CallContext): Promise<Output> {
  const { tools, questions, signal } = context
  const tool = tools.get(call.toolName)
  if (!tool)
    return failed(
      `There is no tool "${call.toolName.slice(0, 64)}". There are: ${[...tools.keys()].join(', ') || 'none'}.`,
    )
  const checked = await checkInput(tool, call.input)
  if ('problem' in checked) return failed(checked.problem)
  try {
    if (tool.needsApproval && !(await questions.approve(tool, call.toolCallId, checked.given))) {
      return { type: 'execution-denied', reason: 'The user has refused this call.' }
    }
    if (tool.type === 'client') return await questions.call(tool, call.toolCallId, checked.given)
    return toOutput(await run(tool, checked.value, call, context))
  } catch (error) {
    signal.throwIfAborted()
    return failed(`The tool "${tool.name}" failed: ${reasonOf(error)}`)
  }
}

/** Once, where turns are resumed: then what it has returned, or why it failed, is stored. */
async function run(tool: LocalTool, input: unknown, call: ToolCall, context: CallContext): Promise<unknown> {
  const { journal, signal, timeout, contextFor } = context
  const work = (mark?: string) =>
    runWithin(tool.timeout ?? timeout, signal, (limit) => {
      const given = contextFor(mark)
      const turn = mark === undefined ? given.turn : given.turn && turnWithin(given.turn, tool.name)
      const act = () => tool.run(input, { ...given, ...(turn && { turn }), signal: AbortSignal.any([signal, limit]) })
      return given.turn ? watched(tool, call, given.turn, act) : act()
    })
  if (!journal || tool.usesTurn) return await work()
  const done = await journal(`tool ${tool.name} ${call.toolCallId}`, async (mark): Promise<JsonObject> => {
    if (context.isRecalled && call.input.includes(redactionMark)) return { failed: argumentsGone }
    try {
      return pack(await work(mark))
    } catch (error) {
      signal.throwIfAborted()
      return { failed: reasonOf(error) }
    }
  })
  if (typeof done.failed === 'string') throw new Error(done.failed)
  return unpack(done)
}

/** For whoever watches the turn. What went wrong may tell what the tool was given: it is not told. */
function watched({ name }: LocalTool, { toolCallId }: ToolCall, turn: Turn, act: () => unknown): Promise<unknown> {
  return turn.observe({ type: 'tool', tool: name, callId: toolCallId }, async (span) => {
    try {
      return await act()
    } catch (error) {
      span?.end(new A2AError('tool-failed', 'The tool failed.'))
      throw error
    }
  })
}

const argumentsGone = 'its arguments were given to a process that is gone, and are never stored: ask for them again.'

type CheckedInput = { readonly value: unknown; readonly given: JsonObject } | { readonly problem: string }

async function checkInput(tool: Tool, text: string): Promise<CheckedInput> {
  let given: unknown
  try {
    given = JSON.parse(text === '' ? '{}' : text)
  } catch {
    return { problem: `The arguments of "${tool.name}" are no JSON: call it again with a JSON object.` }
  }
  if (!isObject(given)) return { problem: `The arguments of "${tool.name}" must be a JSON object.` }
  const result = await tool.input['~standard'].validate(given)
  if (!result.issues) return { value: result.value, given }
  return { problem: `The arguments of "${tool.name}" do not fit: ${describeIssues(result.issues)}.` }
}

/** Also of a tool that does not listen to its signal. */
async function runWithin(
  timeout: number,
  signal: AbortSignal,
  work: (limit: AbortSignal) => unknown,
): Promise<unknown> {
  const limit = new AbortController()
  const { promise: cut, reject } = Promise.withResolvers<never>()
  const expire = () => {
    const reason = new A2AError('timeout', `it took longer than ${timeout / 1000} seconds.`)
    limit.abort(reason)
    reject(reason)
  }
  const leave = () => reject(signal.reason)
  const timer = setTimeout(expire, timeout)
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([(async () => work(limit.signal))(), cut])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
}

function failed(value: string): Output {
  return { type: 'error-text', value }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
