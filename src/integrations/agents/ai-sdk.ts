import type { AdaptedFunction } from '../../core/agent/agent-function.ts'
import { fromBase64 } from '../../core/base/base64.ts'
import { defined, isList, isObject, type JsonObject } from '../../core/base/json.ts'
import { anObject, flag } from '../../core/base/options.ts'
import type { RemoteTarget } from '../../core/client/remote-tool.ts'
import {
  type AsToolOptions,
  answerRemote,
  drain,
  isRemoteQuestion,
  openRemoteAgent,
  pendingRemote,
  type RemoteAgentTool,
  type RemoteAnswer,
} from './as-tool.ts'
import {
  type AdapterOptions,
  adapterChecks,
  adaptFramework,
  approvalOf,
  asJson,
  checkAdapter,
  describeTools,
  type InputItem,
  type Pending,
  questionText,
  type RemoteQuestion,
  type RunAnswer,
  type RunInput,
  type RunOutput,
  type RunResult,
  readApproval,
  type Said,
} from './framework-adapter.ts'

/** The part of an AI SDK agent (`ai` 7, such as `ToolLoopAgent`) that the adapter uses. */
export interface AiSdkAgent {
  readonly tools?: unknown
  // biome-ignore lint/suspicious/noExplicitAny: the options depend on the agent's tools
  stream(options: any): PromiseLike<unknown>
}

/** Calls `streamText` with what the adapter adds: messages and the abort signal. */
// biome-ignore lint/suspicious/noExplicitAny: the messages are those of the AI SDK, which may not be installed
export type AiSdkStream = (call: { readonly messages: any; readonly abortSignal: AbortSignal }) => unknown

/** Options of `aiSdk`. */
export interface AiSdkOptions extends AdapterOptions {
  /**
   * The tools to list as skills, with the remote agents whose questions are asked. Default to those of the agent: a function
   * that calls `streamText` names them here.
   */
  readonly tools?: Readonly<Record<string, object>>
  /** The agent has an `output` specification: its output is sent as data, not as text. Defaults to what a `ToolLoopAgent` has. */
  readonly structured?: boolean
}

/**
 * Makes an agent of the AI SDK (`ai` 7) answer A2A callers: `ToolLoopAgent`, or a function that calls `streamText`.
 *
 * Tool approvals and tools without `execute` become questions; all of them are asked, then the run continues once, also
 * in another process. The AI SDK has no pause inside a tool. Files of the model become artifacts. The AI SDK prints errors of
 * the model to the console, unless the agent has `onError`.
 *
 * @example
 * // assistant is a ToolLoopAgent
 * const served = agent({ name: 'Assistant' }, aiSdk(assistant))
 */
export function aiSdk(source: AiSdkAgent | AiSdkStream, options: AiSdkOptions = {}): AdaptedFunction {
  const isAgent = typeof source === 'function' || typeof source?.stream === 'function'
  const checks = { ...adapterChecks, structured: flag, tools: anObject }
  checkAdapter('aiSdk', options, checks, isAgent, 'an agent of the AI SDK, or a function that calls streamText')
  const settings = typeof source === 'function' ? {} : (source as { settings?: { output?: unknown } }).settings
  const { structured = settings?.output !== undefined } = options
  const { tools = toolsOf(source) } = options
  return adaptFramework(
    {
      name: 'aiSdk',
      agent: (source as { id?: string }).id ?? 'aiSdk',
      tools: describeTools(tools),
      async run(given, output) {
        const settled = await answerRemote(given, (name) => remoteOf(tools[name]), output)
        if ('pending' in settled) return settled
        const { earlier, messages } = messagesFor({ ...given, ...settled })
        const { signal: abortSignal } = given
        const call = { messages, abortSignal, onError: () => {} }
        const result = typeof source === 'function' ? source(call) : source.stream(call)
        return await readRun((await result) as StreamResult, earlier, output, structured)
      },
    },
    options,
  )
}

/** A tool of the AI SDK. */
// biome-ignore lint/suspicious/noExplicitAny: the types of the AI SDK, which may not be installed
export type AiSdkTool = any

/**
 * Makes another agent a tool of the AI SDK. Its progress comes as preliminary results. If the run is aborted, the task of the
 * other agent is canceled.
 *
 * The AI SDK has no pause inside a tool. A question of the agent is the result `{ question, schema, a2a }` of the tool, and
 * `isQuestionAsked` as a stop condition ends the run with it. `aiSdk` then asks the caller and continues the task. Elsewhere
 * `answerQuestion` does. Without the stop condition, the model reads the question.
 *
 * @example
 * // const tools = { prices: await asTool('https://prices.example.com') }
 * // new ToolLoopAgent({ model, tools, stopWhen: [isStepCount(20), isQuestionAsked] })
 */
export async function asTool(target: RemoteTarget, options: AsToolOptions = {}): Promise<AiSdkTool> {
  const { description, inputSchema, ...remote } = await openRemoteAgent(target, options)
  const { jsonSchema, tool } = await import('ai')
  async function* execute(input: unknown, { abortSignal: signal, toolCallId }: ToolCall) {
    const result = yield* remote.send(input, { signal, key: toolCallId })
    // The last value is the result.
    yield result
  }
  const created = tool({ description, inputSchema: jsonSchema(inputSchema as never), execute } as never)
  remotes.set(created, remote)
  return created
}

/** A stop condition: a tool of `asTool` has a question. */
export function isQuestionAsked({ steps }: { readonly steps: readonly StepResults[] }): boolean {
  return steps.at(-1)?.toolResults.some(({ output }) => isRemoteQuestion(output)) === true
}

/**
 * Answers a question that ended a run, and returns what the agent says: the new result of the tool, as text, or its next question.
 *
 * @example
 * // const output = await answerQuestion(tools.prices, question, 'blue')
 */
export async function answerQuestion(
  tool: AiSdkTool,
  question: RemoteQuestion,
  answer: unknown,
  signal?: AbortSignal,
): Promise<string | RemoteQuestion> {
  const remote = remoteOf(tool)
  if (!remote || !isRemoteQuestion(question)) {
    throw new TypeError('answerQuestion: expected a tool of asTool(), and the question that it returned.')
  }
  return await drain(remote.answer(question, answer, { signal }))
}

/** The agents behind the tools that `asTool` has made. */
const remotes = new WeakMap<object, Pick<RemoteAgentTool, 'answer'>>()

function remoteOf(tool: unknown): Pick<RemoteAgentTool, 'answer'> | undefined {
  return typeof tool === 'object' && tool !== null ? remotes.get(tool) : undefined
}

interface ToolCall {
  readonly toolCallId: string
  readonly abortSignal?: AbortSignal
}

interface StepResults {
  readonly toolResults: readonly { readonly output?: unknown }[]
}

function toolsOf(source: AiSdkAgent | AiSdkStream): Readonly<Record<string, object>> {
  const tools = typeof source === 'function' ? undefined : source.tools
  return isObject(tools) ? (tools as unknown as Readonly<Record<string, object>>) : {}
}

/** What the adapter reads of a `StreamTextResult`. */
interface StreamResult {
  readonly stream?: AsyncIterable<StreamPart>
  readonly fullStream: AsyncIterable<StreamPart>
  readonly responseMessages: PromiseLike<readonly unknown[]>
  readonly output: PromiseLike<unknown>
}

interface StreamPart {
  readonly type: string
  readonly text?: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly input?: unknown
  readonly output?: unknown
  readonly error?: unknown
  readonly reason?: unknown
  readonly preliminary?: boolean
  readonly approvalId?: string
  readonly toolCall?: { readonly toolCallId: string; readonly toolName: string; readonly input: unknown }
  readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number }
  readonly response?: { readonly modelId?: string }
  readonly file?: { readonly base64: string; readonly mediaType: string }
}

async function readRun(
  result: StreamResult,
  earlier: RunState,
  output: RunOutput,
  structured: boolean,
): Promise<RunResult> {
  /** Approvals, and questions of the last step: those of earlier ones were read by the model. */
  const asked = new Map<string, Pending>()
  /** Calls that have no result yet. */
  const calls = new Map<string, StreamPart>()
  let failure: { readonly error: unknown } | undefined
  let files = 0
  for await (const part of result.stream ?? result.fullStream) {
    const { type, text = '', toolCallId: id = '', toolName: name = '' } = part
    switch (type) {
      case 'start-step':
        for (const [key, { remote }] of asked) if (remote) asked.delete(key)
        break
      case 'text-start':
        output.nextMessage()
        break
      case 'text-delta':
        if (!structured) await output.text(text)
        break
      case 'reasoning-delta':
        await output.reasoning(text)
        break
      case 'tool-call':
        calls.set(id, part)
        await output.toolCall({ id, name, input: part.input })
        break
      case 'tool-result':
        calls.delete(id)
        if (isRemoteQuestion(part.output)) asked.set(id, pendingRemote(id, name, part.output))
        else await output.toolResult({ id, name, result: part.output, isProgress: part.preliminary === true })
        break
      case 'tool-error':
        calls.delete(id)
        await output.toolResult({ id, name, result: `${part.error}`, isError: true })
        break
      case 'tool-output-denied':
        calls.delete(id)
        await output.toolResult({ id, name, result: 'denied', isError: true })
        break
      case 'tool-approval-request': {
        const { approvalId = '', toolCall } = part
        calls.delete(toolCall?.toolCallId ?? '')
        asked.set(approvalId, approvalOf(approvalId, toolCall?.toolName ?? 'a tool', toolCall?.input))
        break
      }
      case 'file':
        if (part.file) {
          const { base64, mediaType } = part.file
          const content = fromBase64(base64) ?? new Uint8Array()
          await output.file({ name: `file-${++files}`, mediaType, content })
        }
        break
      case 'finish-step': {
        const { inputTokens, outputTokens } = part.usage ?? {}
        await output.usage(defined({ model: part.response?.modelId, inputTokens, outputTokens }))
        break
      }
      case 'error':
        failure ??= { error: part.error }
        break
    }
  }
  if (failure) throw failure.error
  const pending = [...asked.values(), ...Array.from(calls.values(), questionOf)]
  if (pending.length === 0 && structured) await output.data(await result.output)
  if (pending.length === 0) return { pending }
  const responses = [...earlier.responses, ...(await result.responseMessages)]
  return { pending, state: asJson({ ...earlier, responses }) }
}

/** A tool without `execute` is run by the caller: its result is the answer. */
function questionOf({ toolCallId = '', toolName = '', input }: StreamPart): Pending {
  const asked = questionText(input)
  const question = isObject(input) && asked !== JSON.stringify(input) ? asked : `${toolName}: ${asked}`
  return { id: toolCallId, kind: 'input', question, carry: toolName }
}

/** The messages of a run without the caller's own one, which may have files that the journal should not repeat. */
interface RunState {
  readonly conversation: readonly Said[]
  readonly responses: readonly unknown[]
}

function messagesFor({ conversation, message, resume }: RunInput) {
  const state = resume?.state as unknown as RunState | undefined
  const remote = (resume?.answers ?? []).filter(({ pending }) => pending.remote)
  const own = (resume?.answers ?? []).filter(({ pending }) => !pending.remote)
  const answers = own.length > 0 ? [{ role: 'tool', content: own.map(answerPart) }] : []
  const earlier: RunState = {
    conversation: state?.conversation ?? conversation,
    responses: [...(state?.responses ?? []).map((each) => withResults(each, remote)), ...answers],
  }
  const said = earlier.conversation.map(({ role, text }) => ({ role, content: text }))
  return { earlier, messages: [...said, { role: 'user', content: message.map(contentOf) }, ...earlier.responses] }
}

/** Puts what other agents said in the place of their questions. */
function withResults(message: unknown, answers: readonly RunAnswer[]): unknown {
  const { role, content } = message as { readonly role?: unknown; readonly content?: unknown }
  if (role !== 'tool' || !isList(content)) return message
  return {
    role,
    content: content.map((part) => {
      const { toolCallId } = part as { readonly toolCallId?: unknown }
      const answer = answers.find(({ pending }) => pending.id === toolCallId)
      return answer ? { ...(part as object), output: outputOf(answer.value as unknown as RemoteAnswer) } : part
    }),
  }
}

function outputOf(answer: RemoteAnswer): JsonObject {
  return 'error' in answer ? { type: 'error-text', value: answer.error } : { type: 'text', value: answer.result }
}

function answerPart({ pending: { id, kind, carry }, value }: RunAnswer): JsonObject {
  if (kind === 'input') {
    const output = typeof value === 'string' ? { type: 'text', value } : { type: 'json', value }
    return { type: 'tool-result', toolCallId: id, toolName: carry ?? '', output }
  }
  return { type: 'tool-approval-response', approvalId: id, ...readApproval(value) }
}

function contentOf(item: InputItem): unknown {
  if (item.type === 'text') return item
  const { mediaType, filename } = item
  const data = item.type === 'url' ? new URL(item.url) : item.base64
  return defined({ type: 'file', data, mediaType, filename })
}
