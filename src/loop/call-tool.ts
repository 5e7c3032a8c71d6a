import type { LanguageModelV4ToolCall, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import { describeIssues } from '../agent/check-answer.ts'
import { A2AError } from '../protocol/errors.ts'
import type { JsonObject } from '../protocol/model.ts'
import type { Questions } from './questions.ts'
import type { Tool, ToolContext } from './tool.ts'
import { toOutput } from './tool-result.ts'

export type Output = LanguageModelV4ToolResultOutput

export interface CallContext extends Omit<ToolContext, 'toolCallId'> {
  readonly tools: ReadonlyMap<string, Tool>
  readonly questions: Questions
  /** Milliseconds, of tools that say nothing else. */
  readonly timeout: number
}

/** Does what the model asks for. Whatever goes wrong is a result: the model can put it right. */
export async function callTool(call: LanguageModelV4ToolCall, context: CallContext): Promise<Output> {
  const { tools, questions, signal } = context
  const tool = tools.get(call.toolName)
  if (!tool) return failed(`There is no tool "${call.toolName}". There are: ${[...tools.keys()].join(', ') || 'none'}.`)
  const checked = await checkInput(tool, call.input)
  if ('problem' in checked) return failed(checked.problem)
  try {
    if (tool.needsApproval && !(await questions.approve(tool, checked.given))) {
      return { type: 'execution-denied', reason: 'The user has refused this call.' }
    }
    if (tool.type === 'client') return await questions.call(tool, call.toolCallId, checked.given)
    return toOutput(
      await runWithin(
        tool.timeout ?? context.timeout,
        (limit) =>
          tool.run(checked.value, {
            ...context,
            toolCallId: call.toolCallId,
            signal: AbortSignal.any([signal, limit]),
          }),
        signal,
      ),
    )
  } catch (error) {
    signal.throwIfAborted()
    return failed(`The tool "${tool.name}" failed: ${reasonOf(error)}`)
  }
}

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
  work: (limit: AbortSignal) => unknown,
  signal: AbortSignal,
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
