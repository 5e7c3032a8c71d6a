import type { LanguageModelV4ToolResultOutput, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import { describeIssues } from '../../core/agent/standard-schema.ts'
import { observeTool } from '../call-model.ts'
import type { Questions } from '../questions.ts'
import {
  type DecodedCall,
  logToolFailure,
  messageOf,
  progressDetails,
  runTool,
  runToolOnce,
  type ToolRunContext,
  toolUsePart,
  type ValidCall,
} from './run-tool.ts'
import type { ClientTool, Tool } from './tool.ts'
import { limitOutput, toOutput, toolResultPart } from './tool-result.ts'

export interface ToolCallContext extends ToolRunContext {
  readonly questions: Questions
  readonly isReplaying: (() => boolean) | undefined
  /** Whether the caller sees the calls of tools that the agent runs, and their results. */
  readonly toolMessages: boolean
  /** Maximum number of characters of a result that the model receives. */
  readonly maxResultLength: number
}

/** Runs a tool that the model has called, and returns the result for the model. */
export async function callTool(
  decoded: DecodedCall,
  tools: Tools,
  context: ToolCallContext,
): Promise<LanguageModelV4ToolResultPart> {
  const { toolCallId, toolName } = decoded.call
  const text = `Calling ${toolName}`
  const content = isShown(decoded, tools, context) ? [{ text }, toolUsePart(decoded)] : text
  context.output.progress(content, progressDetails(decoded.call), undefined)
  const output = limitOutput(await outputOf(decoded, tools, context), context.maxResultLength)
  return { type: 'tool-result', toolCallId, toolName, output }
}

/**
 * Emits the results of a step as tool results. In the order of the calls, not of their ends: a resumed turn must emit
 * them in the same order.
 */
export function emitResults(
  calls: readonly DecodedCall[],
  results: readonly LanguageModelV4ToolResultPart[],
  tools: Tools,
  context: ToolCallContext,
): void {
  for (const [index, decoded] of calls.entries()) {
    const result = results[index]
    if (!result || !isShown(decoded, tools, context)) continue
    context.output.progress([toolResultPart(result)], progressDetails(decoded.call), undefined)
  }
}

type Tools = ReadonlyMap<string, Tool>

type Output = LanguageModelV4ToolResultOutput

/** Errors become results, so that the model can correct its call. */
async function outputOf(decoded: DecodedCall, tools: Tools, context: ToolCallContext): Promise<Output> {
  const { toolCallId, toolName } = decoded.call
  const { questions, journal, abortListeners } = context
  const tool = tools.get(toolName)
  if (!tool)
    return failed(`There is no tool "${toolName.slice(0, 64)}". There are: ${[...tools.keys()].join(', ') || 'none'}.`)
  if ('failure' in decoded) return failed(decoded.failure)
  try {
    const validation = tool.input['~standard'].validate(decoded.input)
    // Most schema libraries validate synchronously.
    const validated = validation instanceof Promise ? await validation : validation
    if (validated.issues)
      return failed(`The arguments of "${toolName}" do not fit: ${describeIssues(validated.issues)}.`)
    if (tool.needsApproval && !(await questions.approve(tool, toolCallId, decoded.input)))
      return { type: 'execution-denied', reason: 'The user has refused this call.' }
    if (tool.type === 'client') return await callClient(tool, decoded, context)
    const isStored = journal && !tool.usesTurn
    const running = isStored
      ? runToolOnce(journal, tool, validated.value, decoded, context)
      : runTool(tool, validated.value, decoded.call, context)
    return toOutput(await running)
  } catch (error) {
    abortListeners.signal.throwIfAborted()
    // A stored failure was logged when it happened; one of the caller is no failure of a tool.
    if (tool.type !== 'client' && !(journal && !tool.usesTurn)) logToolFailure(error, toolName, context)
    return failed(`The tool "${toolName}" failed: ${messageOf(error)}`)
  }
}

/** The caller runs client tools itself, and knows their calls and results. */
function isShown({ call }: DecodedCall, tools: Tools, { toolMessages }: ToolCallContext): boolean {
  return toolMessages && tools.get(call.toolName)?.type !== 'client'
}

function failed(value: string): Output {
  return { type: 'error-text', value }
}

/**
 * Observes how long the caller takes. With a journal the turn may be suspended meanwhile, so the observation is created
 * after the answer has arrived, and only once.
 */
async function callClient(tool: ClientTool, { call, input }: ValidCall, context: ToolCallContext): Promise<Output> {
  const { questions, observer, journal, isReplaying } = context
  const ask = () => questions.call(tool, call.toolCallId, input)
  if (!observer) return await ask()
  if (!journal) return await observeTool(call, observer, ask)
  const outcome = await settle(ask)
  return isReplaying?.() ? outcome() : await observeTool(call, observer, outcome)
}

/** Runs the work, and returns a function that returns its value or throws its error. */
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
