import type { AdaptedFunction } from '../../core/agent/agent-function.ts'
import { defined, isList, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import type { RemoteTarget } from '../../core/client/remote-tool.ts'
import { A2AError } from '../../core/protocol/errors.ts'
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
  parseJson,
  questionText,
  type RemoteQuestion,
  type RunAnswer,
  type RunInput,
  type RunOutput,
  readApproval,
  toJsonSchema,
} from './framework-adapter.ts'

/** The part of an agent of the Agent Development Kit that the adapter uses. */
export interface AdkAgent {
  readonly name: string
  readonly description?: string
}

/**
 * Makes an agent of the Agent Development Kit (`@google/adk` 2) answer A2A callers.
 *
 * Tools with `requireConfirmation` and requests for input become questions. The events of a session are stored with the
 * task while it waits, with the files of the message; a session service of the author's is not used. A request for
 * credentials fails the task, because ADK expects them in its own form. Results of a `LongRunningFunctionTool` are not
 * waited for. `outputSchema` makes the text of the answer data. ADK reports no progress of tools.
 *
 * @example
 * // assistant is an LlmAgent
 * const served = agent({ name: 'Assistant' }, adk(assistant))
 */
export function adk(source: AdkAgent, options: AdapterOptions = {}): AdaptedFunction {
  checkAdapter('adk', options, adapterChecks, typeof source?.name === 'string', 'an agent of @google/adk')
  const structured = (source as { readonly outputSchema?: unknown }).outputSchema !== undefined
  return adaptFramework(
    {
      name: 'adk',
      agent: source.name,
      tools: describeTools((source as { readonly tools?: unknown }).tools),
      async run(given, output) {
        const settled = await answerRemote(given, (name) => remoteTools(source).get(name), output)
        if ('pending' in settled) return settled
        const input = { ...given, ...settled }
        const adkModule = await import('@google/adk')
        const { Runner, InMemorySessionService, StreamingMode, createEvent, getPendingUserInputRequests } = adkModule
        const sessionService: SessionService = new InMemorySessionService()
        const address = { appName: source.name, userId: input.thread, sessionId: input.thread }
        const session = await sessionService.createSession(address)
        for (const event of eventsFor(input, source.name, createEvent))
          await sessionService.appendEvent({ session, event })
        const runner = new Runner({
          appName: source.name,
          agent: source as never,
          sessionService: sessionService as never,
        })
        const events: AsyncIterable<AdkEvent> = runner.runAsync({
          userId: input.thread,
          sessionId: input.thread,
          newMessage: messageFor(input),
          runConfig: { streamingMode: StreamingMode.SSE },
          abortSignal: input.signal,
        })
        const text = await readEvents(events, output, structured)
        input.signal.throwIfAborted()
        const stored = (await sessionService.getSession(address))?.events ?? []
        const pending = (getPendingUserInputRequests(stored as never) as readonly UserInputRequest[]).map((each) =>
          pendingOf(each, stored),
        )
        if (pending.length > 0) return { pending, state: asJson(stored) }
        if (structured) await output.data(parseJson(text))
        return { pending }
      },
    },
    options,
  )
}

/** A tool of the Agent Development Kit (`BaseTool`). */
// biome-ignore lint/suspicious/noExplicitAny: the types of ADK, which may not be installed
export type AdkTool = any

/**
 * Makes another agent a tool of the Agent Development Kit. Its questions are requests for confirmation with the question as
 * hint and `{ question, schema, a2a }` as payload; the answer is the response `{ confirmed: true, payload: { answer } }`.
 * If the run is aborted, the task of the other agent is canceled. ADK takes no progress from tools, and asks once for each
 * call: a second question of the agent is read by the model, unless `adk` runs it, which asks all of them.
 *
 * @example
 * // new LlmAgent({ name: 'assistant', model, tools: [await asTool('https://prices.example.com')] })
 */
export async function asTool(target: RemoteTarget, options: AsToolOptions = {}): Promise<AdkTool> {
  const { name, description, inputSchema, ...remote } = await openRemoteAgent(target, options)
  const { FunctionTool } = await import('@google/adk')
  const execute = async (input: unknown, context: ToolContext) => {
    const { toolConfirmation, abortSignal: signal, functionCallId, state } = context
    const key = `a2a:${functionCallId}`
    const open = toolConfirmation && state.get(key)
    const { said: settled, answer } = (toolConfirmation?.payload ?? {}) as ConfirmedAnswer
    if (settled) return settled
    if (toolConfirmation && !toolConfirmation.confirmed) return { error: 'The question was not answered.' }
    const said = await drain(
      isRemoteQuestion(open) ? remote.answer(open, answer ?? 'yes', { signal }) : remote.send(input, { signal }),
    )
    if (typeof said === 'string') return said
    if (toolConfirmation) return { error: `"${said.a2a.agent}" has another question: ${said.question}` }
    state.set(key, said)
    context.requestConfirmation({ hint: said.question, payload: said })
    context.actions.skipSummarization = true
    return { waits: said.question }
  }
  const tool = new FunctionTool({ name, description, parameters: inputSchema as never, execute: execute as never })
  remotes.set(tool, remote)
  // Otherwise ADK rejects confirmations of a tool that asks by itself.
  return Object.assign(tool, { checkRequireConfirmation: async () => true })
}

/** The agents behind the tools that `asTool` has made. */
const remotes = new WeakMap<object, Pick<RemoteAgentTool, 'answer'>>()

/** The tools of an agent and of those below it that are other agents. */
function remoteTools(source: AdkAgent): ReadonlyMap<string, Pick<RemoteAgentTool, 'answer'>> {
  const { tools, subAgents } = source as { readonly tools?: unknown; readonly subAgents?: unknown }
  const own = (isList(tools) ? tools : []).flatMap((tool): [string, Pick<RemoteAgentTool, 'answer'>][] => {
    const remote = isObject(tool) ? remotes.get(tool) : undefined
    return remote ? [[(tool as { readonly name: string }).name, remote]] : []
  })
  const below = (isList(subAgents) ? (subAgents as readonly AdkAgent[]) : []).flatMap((each) => [...remoteTools(each)])
  return new Map([...below, ...own])
}

/** The payload of a confirmed question: the answer, or, after the adapter has sent it, what the agent said to it. */
interface ConfirmedAnswer {
  readonly answer?: Json
  readonly said?: RemoteAnswer
}

interface ToolContext {
  readonly toolConfirmation?: { readonly confirmed: boolean; readonly payload?: unknown }
  readonly abortSignal?: AbortSignal
  readonly functionCallId?: string
  readonly state: { get(key: string): unknown; set(key: string, value: unknown): void }
  readonly actions: { skipSummarization?: boolean }
  requestConfirmation(request: { readonly hint: string; readonly payload: RemoteQuestion }): void
}

interface SessionService {
  createSession(address: object): Promise<object>
  getSession(address: object): Promise<{ readonly events: readonly AdkEvent[] } | undefined>
  appendEvent(request: { readonly session: object; readonly event: unknown }): Promise<unknown>
}

interface AdkEvent {
  readonly partial?: boolean
  readonly errorCode?: string
  readonly errorMessage?: string
  readonly modelVersion?: string
  readonly content?: { readonly parts?: readonly AdkPart[] }
  readonly usageMetadata?: { readonly promptTokenCount?: number; readonly candidatesTokenCount?: number }
}

interface AdkPart {
  readonly text?: string
  readonly thought?: boolean
  readonly functionCall?: { readonly id?: string; readonly name?: string; readonly args?: unknown }
  readonly functionResponse?: { readonly id?: string; readonly name?: string; readonly response?: unknown }
}

/** ADK's own function calls, by which it asks. */
const requestPrefix = 'adk_request_'

/** Reports the events, and returns the text of the last complete one. */
async function readEvents(events: AsyncIterable<AdkEvent>, output: RunOutput, structured: boolean): Promise<string> {
  /** Text that was sent piece by piece comes again in one complete event. */
  let isStreamed = false
  let last = ''
  for await (const event of events) {
    const { partial = false, errorCode, errorMessage, content, usageMetadata, modelVersion } = event
    if (errorCode !== undefined) throw new Error(errorMessage ?? errorCode)
    const parts = content?.parts ?? []
    const texts = parts.filter(({ text }) => text !== undefined && text !== '')
    for (const { text = '', thought = false } of partial || !isStreamed ? texts : []) {
      if (thought) await output.reasoning(text)
      else if (!structured) await output.text(text)
    }
    if (partial) {
      isStreamed ||= texts.length > 0
      continue
    }
    if (texts.length > 0) {
      last = texts.map(({ text = '', thought }) => (thought ? '' : text)).join('')
      isStreamed = false
      output.nextMessage()
    }
    for (const part of parts) await reportTool(part, output)
    if (!usageMetadata) continue
    const { promptTokenCount: inputTokens, candidatesTokenCount: outputTokens } = usageMetadata
    await output.usage(defined({ model: modelVersion, inputTokens, outputTokens }))
  }
  return last
}

async function reportTool({ functionCall, functionResponse }: AdkPart, output: RunOutput): Promise<void> {
  if (functionCall && !functionCall.name?.startsWith(requestPrefix)) {
    const { id = '', name = '', args } = functionCall
    await output.toolCall({ id, name, input: args })
  }
  if (functionResponse && !functionResponse.name?.startsWith(requestPrefix)) {
    const { id = '', name = '', response } = functionResponse
    await output.toolResult({ id, name, result: response, isError: isObject(response) && 'error' in response })
  }
}

interface UserInputRequest {
  readonly kind: 'input' | 'credential' | 'confirmation'
  readonly interruptId: string
  readonly functionCallName: string
  readonly message?: string
  readonly payload?: unknown
  readonly responseSchema?: unknown
  readonly toolName?: string
}

function pendingOf(request: UserInputRequest, events: readonly AdkEvent[]): Pending {
  const { kind, interruptId: id, functionCallName: carry, message, payload, toolName = 'a tool' } = request
  if (kind === 'credential') {
    throw new A2AError('internal', 'The agent needs credentials that it cannot ask for over A2A.')
  }
  if (isRemoteQuestion(payload)) return { ...pendingRemote(id, toolName, payload), carry }
  if (kind === 'confirmation') {
    const approval = approvalOf(id, toolName, payload ?? confirmedInput(events, id), carry)
    return message && !message.startsWith(ownHint)
      ? { ...approval, question: `${message} Answer yes or no.` }
      : approval
  }
  return {
    id,
    kind: 'input',
    carry,
    ...defined({ question: questionText(message ?? payload), schema: toJsonSchema(request.responseSchema) }),
  }
}

/** The hint of tools with `requireConfirmation`: for programs, and without the input of the tool. */
const ownHint = 'Please approve or reject the tool call'

/** The input of the tool call that a request is about. */
function confirmedInput(events: readonly AdkEvent[], id: string): unknown {
  const parts = events.flatMap(({ content }) => content?.parts ?? [])
  const request = parts.find(({ functionCall }) => functionCall?.id === id)?.functionCall?.args
  const original = isObject(request) ? request.originalFunctionCall : undefined
  return isObject(original) ? (original.args ?? {}) : {}
}

function eventsFor(
  { conversation, resume }: RunInput,
  author: string,
  createEvent: (fields: object) => unknown,
): readonly unknown[] {
  if (resume) return resume.state as readonly Json[]
  return conversation.map(({ role, text }) =>
    role === 'user'
      ? createEvent({ author: 'user', content: { role, parts: [{ text }] } })
      : createEvent({ author, content: { role: 'model', parts: [{ text }] } }),
  )
}

function messageFor({ message, resume }: RunInput): object {
  return { role: 'user', parts: resume ? resume.answers.map(responseOf) : message.map(partOf) }
}

function responseOf({ pending: { id, kind, carry, remote }, value }: RunAnswer): object {
  const response: JsonObject = remote
    ? { confirmed: true, payload: { said: value } }
    : kind === 'approval'
      ? { confirmed: readApproval(value).approved }
      : isObject(value)
        ? value
        : { result: value }
  return { functionResponse: { id, name: carry, response } }
}

function partOf(item: InputItem): object {
  if (item.type === 'text') return { text: item.text }
  const { mediaType: mimeType } = item
  return item.type === 'url'
    ? { fileData: { fileUri: item.url, mimeType } }
    : { inlineData: { data: item.base64, mimeType } }
}
