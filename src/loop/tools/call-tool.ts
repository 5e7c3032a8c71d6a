import type { LanguageModelV4ToolResultOutput, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import { describeIssues } from '../../agent/standard-schema.ts'
import { watchedTool } from '../ask-model.ts'
import type { Questions } from '../questions.ts'
import { noteOf, type ReadCall, reasonOf, runTool, runToolOnce, type WithArguments, type Workshop } from './run-tool.ts'
import type { ClientTool, Tool } from './tool.ts'
import { toOutput } from './tool-result.ts'

export interface CallContext extends Workshop {
  readonly questions: Questions
  readonly isReplaying: (() => boolean) | undefined
}

/** Does what the model asks for, and gives what the model is told of it. */
export async function callTool(
  read: ReadCall,
  tools: Tools,
  context: CallContext,
): Promise<LanguageModelV4ToolResultPart> {
  const { toolCallId, toolName } = read.call
  context.telling.progress(`Calling ${toolName}`, noteOf(read.call), undefined)
  return { type: 'tool-result', toolCallId, toolName, output: await outputOf(read, tools, context) }
}

type Tools = ReadonlyMap<string, Tool>

/** Whatever goes wrong is a result: the model can put it right. */
async function outputOf(read: ReadCall, tools: Tools, context: CallContext): Promise<Output> {
  const { toolCallId, toolName } = read.call
  const { questions, journal, brake } = context
  const tool = tools.get(toolName)
  if (!tool)
    return failed(`There is no tool "${toolName.slice(0, 64)}". There are: ${[...tools.keys()].join(', ') || 'none'}.`)
  if ('problem' in read) return failed(read.problem)
  try {
    const checking = tool.input['~standard'].validate(read.given)
    // Most libraries answer at once.
    const checked = checking instanceof Promise ? await checking : checking
    if (checked.issues) return failed(`The arguments of "${toolName}" do not fit: ${describeIssues(checked.issues)}.`)
    if (tool.needsApproval && !(await questions.approve(tool, toolCallId, read.given)))
      return { type: 'execution-denied', reason: 'The user has refused this call.' }
    if (tool.type === 'client') return await callClient(tool, read, context)
    const isStored = journal && !tool.usesTurn
    const running = isStored
      ? runToolOnce(journal, tool, checked.value, read, context)
      : runTool(tool, checked.value, read.call, context)
    return toOutput(await running)
  } catch (error) {
    brake.signal.throwIfAborted()
    return failed(`The tool "${toolName}" failed: ${reasonOf(error)}`)
  }
}

type Output = LanguageModelV4ToolResultOutput

function failed(value: string): Output {
  return { type: 'error-text', value }
}

/**
 * Whoever watches sees for how long the caller was at it. A turn that is left meanwhile has no end to be seen: the one that
 * goes on with the answer tells of it, once.
 */
async function callClient(tool: ClientTool, { call, given }: WithArguments, context: CallContext): Promise<Output> {
  const { questions, watcher, journal, isReplaying } = context
  const ask = () => questions.call(tool, call.toolCallId, given)
  if (!watcher) return await ask()
  if (!journal) return await watchedTool(call, watcher, ask)
  const answered = await settle(ask)
  return isReplaying?.() ? answered() : await watchedTool(call, watcher, answered)
}

/** How it ended, to be told later. */
async function settle<T>(work: () => Promise<T>): Promise<() => T> {
  try {
    const value = await work()
    return () => value
  } catch (error) {
    return () => {
      throw error
    }
  }
}
