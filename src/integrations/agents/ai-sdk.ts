import type { AdaptedFunction } from '../../core/agent/agent-function.ts'
import { fromBase64 } from '../../core/base/base64.ts'
import { defined, isObject, type JsonObject } from '../../core/base/json.ts'
import {
  type AdapterOptions,
  adapterChecks,
  adaptFramework,
  approvalOf,
  asJson,
  checkAdapter,
  type InputItem,
  type Pending,
  questionText,
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
  const checks = { ...adapterChecks, structured: adapterChecks.reasoning }
  checkAdapter('aiSdk', options, checks, isAgent, 'an agent of the AI SDK, or a function that calls streamText')
  const settings = typeof source === 'function' ? {} : (source as { settings?: { output?: unknown } }).settings
  const { structured = settings?.output !== undefined } = options
  const tools = typeof source !== 'function' && isObject(source.tools) ? source.tools : {}
  return adaptFramework(
    {
      name: 'aiSdk',
      agent: (source as { id?: string }).id ?? 'aiSdk',
      tools: Object.entries(tools).map(([name, tool]) => {
        const { description, inputSchema } = tool as { description?: string; inputSchema?: unknown }
        return { name, description: typeof description === 'string' ? description : undefined, schema: inputSchema }
      }),
      async run(input, output) {
        const { earlier, messages } = messagesFor(input)
        const call = { messages, abortSignal: input.signal, onError: () => {} }
        const result = typeof source === 'function' ? source(call) : source.stream(call)
        return await readRun((await result) as StreamResult, earlier, output, structured)
      },
    },
    options,
  )
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
  const approvals = new Map<string, Pending>()
  /** Calls that have no result yet. */
  const calls = new Map<string, StreamPart>()
  let failure: { readonly error: unknown } | undefined
  let files = 0
  for await (const part of result.stream ?? result.fullStream) {
    const { type, text = '', toolCallId: id = '', toolName: name = '' } = part
    switch (type) {
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
        await output.toolResult({ id, name, result: part.output, isProgress: part.preliminary === true })
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
        approvals.set(approvalId, approvalOf(approvalId, toolCall?.toolName ?? 'a tool', toolCall?.input))
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
  const pending = [...approvals.values(), ...Array.from(calls.values(), questionOf)]
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
  const answers = resume && [{ role: 'tool', content: resume.answers.map(answerPart) }]
  const earlier: RunState = {
    conversation: state?.conversation ?? conversation,
    responses: [...(state?.responses ?? []), ...(answers ?? [])],
  }
  const said = earlier.conversation.map(({ role, text }) => ({ role, content: text }))
  return { earlier, messages: [...said, { role: 'user', content: message.map(contentOf) }, ...earlier.responses] }
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
