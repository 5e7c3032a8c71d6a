import type { AdaptedFunction } from '../../core/agent/agent-function.ts'
import { defined, isList, isObject } from '../../core/base/json.ts'
import { having } from '../../core/base/options.ts'
import type { RemoteTarget } from '../../core/client/remote-tool.ts'
import { type AsToolOptions, isRemoteQuestion, openRemoteAgent, type RemoteResult } from './as-tool.ts'
import {
  type AdapterOptions,
  adapterChecks,
  adaptFramework,
  approvalOf,
  checkAdapter,
  describeTools,
  type InputItem,
  type Pending,
  parseJson,
  type RunInput,
  type RunOutput,
  readApproval,
} from './framework-adapter.ts'

/** The part of an agent of the OpenAI Agents SDK that the adapter uses. */
export interface OpenAiAgent {
  readonly name: string
  readonly tools?: readonly unknown[]
  readonly outputType?: unknown
}

/** Options of `openaiAgents`. */
export interface OpenAiAgentsOptions extends AdapterOptions {
  /** A `Runner` of the SDK. Defaults to one without tracing, because traces are sent to OpenAI. */
  // biome-ignore lint/suspicious/noExplicitAny: the types of a run depend on the agent
  readonly runner?: { run(agent: any, input: any, options?: any): Promise<any> }
}

/**
 * Makes an agent of the OpenAI Agents SDK (`@openai/agents` 0.20) answer A2A callers.
 *
 * Tools with `needsApproval` become questions, those of nested agents as well. The state of a run is stored with its task
 * while it waits, with the files of the message, and with what the author has put into its `context`. A resumed run finds
 * its agents by their names. The SDK has no pause inside a tool, and no progress of tools.
 *
 * @example
 * // assistant is an Agent of @openai/agents
 * const served = agent({ name: 'Assistant' }, openaiAgents(assistant))
 */
export function openaiAgents(source: OpenAiAgent, options: OpenAiAgentsOptions = {}): AdaptedFunction {
  const checks = { ...adapterChecks, runner: having('a Runner of @openai/agents', 'run') }
  const isAgent = typeof source?.name === 'string' && isList(source.tools ?? [])
  checkAdapter('openaiAgents', options, checks, isAgent, 'an Agent of @openai/agents')
  const structured = source.outputType !== undefined && source.outputType !== 'text'
  return adaptFramework(
    {
      name: 'openaiAgents',
      agent: source.name,
      tools: describeTools(source.tools),
      async run(input, output) {
        const { Runner, RunState } = await import('@openai/agents')
        const runner = options.runner ?? new Runner({ tracingDisabled: true })
        const start = input.resume ? await resumeState(RunState, source, input.resume) : itemsFor(input)
        const result: StreamedRun = await runner.run(source, start, { stream: true, signal: input.signal })
        await readStream(result, output, structured)
        input.signal.throwIfAborted()
        const pending = result.interruptions.map(pendingOf)
        if (pending.length > 0) return { pending, state: result.state.toString() }
        if (structured) await output.data(result.finalOutput)
        return { pending }
      },
    },
    options,
  )
}

/** A tool of the OpenAI Agents SDK (`FunctionTool`). */
// biome-ignore lint/suspicious/noExplicitAny: the types of the SDK, which may not be installed
export type OpenAiTool = any

/**
 * Makes another agent a tool of the OpenAI Agents SDK. A question of the agent is an interruption, the approval of a tool
 * `answer` with the arguments `{ question, schema, a2a }`: `state.approve(item)` answers yes, and `state.reject(item, { message })`
 * answers with the message. If the run is aborted, the task of the other agent is canceled. The SDK takes no progress from
 * tools; `tool.on('raw_model_stream_event', …)` has that of the agent.
 *
 * @example
 * // new Agent({ name: 'Assistant', tools: [await asTool('https://prices.example.com')] })
 */
export async function asTool(target: RemoteTarget, options: AsToolOptions = {}): Promise<OpenAiTool> {
  const { name, description, inputSchema, ...remote } = await openRemoteAgent(target, options)
  const { Agent, Usage, tool } = await import('@openai/agents')
  const answer = tool({
    name: answerTool,
    description: 'Answers the question of the agent.',
    parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
    strict: false,
    needsApproval: true,
    execute: () => 'yes',
  })

  /** The other agent as a model: of a question it makes a call that needs an approval, because the SDK stores those. */
  async function* respond({ input, signal }: ModelRequest) {
    let said: RemoteResult
    try {
      const run = runOf(input, signal)
      let next = await run.next()
      for (; !next.done; next = await run.next()) {
        if ('text' in next.value) yield { type: 'output_text_delta', delta: next.value.text }
      }
      said = next.value
    } catch (error) {
      signal?.throwIfAborted()
      // The SDK would hide the reason from the model.
      said = error instanceof Error ? error.message : `${error}`
    }
    const message = { type: 'message', id: crypto.randomUUID(), role: 'assistant', status: 'completed' }
    const output =
      typeof said === 'string'
        ? { ...message, content: [{ type: 'output_text', text: said }] }
        : { type: 'function_call', callId: crypto.randomUUID(), name: answerTool, arguments: JSON.stringify(said) }
    const response = { id: crypto.randomUUID(), usage: new Usage(), output: [{ status: 'completed', ...output }] }
    yield { type: 'response_done', response }
  }

  function runOf(input: ModelRequest['input'], signal: AbortSignal | undefined) {
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
    const result = items.findLast(({ type }) => type === 'function_call_result')
    const call = result && items.findLast(({ type, callId }) => type === 'function_call' && callId === result.callId)
    const question = parseJson(call?.arguments ?? '')
    if (isRemoteQuestion(question)) return remote.answer(question, answerIn(result?.output), { signal })
    return remote.send(parseJson(textIn(items[0]?.content)), { signal })
  }

  const model = {
    getStreamedResponse: respond,
    async getResponse(request: ModelRequest) {
      for await (const event of respond(request)) if (event.response) return event.response
      throw new Error('The other agent has not answered.')
    },
  }
  const nested = new Agent({ name, model: model as never, tools: [answer] }).asTool({
    toolName: name,
    toolDescription: description,
    parameters: inputSchema as never,
    inputBuilder: ({ params }: { readonly params: unknown }) => JSON.stringify(params),
  })
  // The schema is the other agent's, which need not follow the rules of strict ones.
  return Object.assign(nested, { strict: false })
}

/** The tool by which another agent asks. */
const answerTool = 'answer'

interface ModelRequest {
  readonly input: string | readonly ModelItem[]
  readonly signal?: AbortSignal
}

interface ModelItem extends RawItem {
  readonly type?: string
  readonly role?: string
}

/** The answer in the output of a tool, which is a text or an item with one. Objects come as JSON. */
function answerIn(output: unknown): unknown {
  const text = isObject(output) && typeof output.text === 'string' ? output.text : `${output}`
  const value = parseJson(text)
  return isObject(value) || isList(value) ? value : text
}

/** What the adapter reads of a `StreamedRunResult`. */
interface StreamedRun extends AsyncIterable<RunEvent> {
  readonly completed: Promise<void>
  readonly interruptions: readonly Interruption[]
  readonly state: { toString(): string }
  readonly finalOutput: unknown
}

/** The approval of a tool call, or the question of another agent. */
function pendingOf({ rawItem: { callId = '', name = 'a tool', arguments: args = '' } }: Interruption): Pending {
  const input = parseJson(args)
  if (name !== answerTool || !isRemoteQuestion(input)) return approvalOf(callId, name, input)
  return { id: callId, kind: 'input', question: input.question, schema: input.schema }
}

interface Interruption {
  readonly rawItem: RawItem
}

interface RawItem {
  readonly callId?: string
  readonly name?: string
  readonly arguments?: string
  readonly content?: unknown
  readonly output?: unknown
}

type RunEvent =
  | { readonly type: 'raw_model_stream_event'; readonly data: ModelEvent }
  | {
      readonly type: 'run_item_stream_event'
      readonly name: string
      readonly item: { readonly rawItem: RawItem; readonly output?: unknown }
    }
  | { readonly type: 'agent_updated_stream_event' }

interface ModelEvent {
  readonly type: string
  readonly delta?: string
  readonly response?: { readonly usage?: { readonly inputTokens?: number; readonly outputTokens?: number } }
}

async function readStream(result: StreamedRun, output: RunOutput, structured: boolean): Promise<void> {
  // The iteration throws the same error.
  result.completed.catch(() => {})
  const names = new Map<string, string>()
  for await (const event of result) {
    if (event.type === 'raw_model_stream_event') {
      const { type, delta = '', response } = event.data
      if (type === 'response_started') output.nextMessage()
      if (type === 'output_text_delta' && !structured) await output.text(delta)
      if (type !== 'response_done') continue
      output.nextMessage()
      const { inputTokens, outputTokens } = response?.usage ?? {}
      await output.usage(defined({ inputTokens, outputTokens }))
    } else if (event.type === 'run_item_stream_event') {
      const { rawItem, output: result } = event.item
      const { callId: id = '', name = names.get(id) ?? '', arguments: args = '' } = rawItem
      if (event.name === 'tool_called') {
        names.set(id, name)
        await output.toolCall({ id, name, input: parseJson(args) })
      }
      if (event.name === 'tool_output') await output.toolResult({ id, name, result: result ?? rawItem.output })
      if (event.name === 'reasoning_item_created') await output.reasoning(textIn(rawItem.content))
    }
  }
  await result.completed
}

function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = isList(content) ? content.filter(isObject) : []
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n')
}

/** Reads a stored state and applies the answers. The SDK keeps what is not answered: here, everything is. */
async function resumeState(
  RunState: { fromString(agent: OpenAiAgent, text: string): Promise<StoredState> },
  source: OpenAiAgent,
  { state, answers }: NonNullable<RunInput['resume']>,
): Promise<StoredState> {
  const stored = await RunState.fromString(source, `${state}`)
  for (const interruption of stored.getInterruptions()) {
    const answer = answers.find(({ pending }) => pending.id === interruption.rawItem.callId)
    if (answer?.pending.kind === 'input') {
      const { value } = answer
      stored.reject(interruption, { message: typeof value === 'string' ? value : JSON.stringify(value) })
      continue
    }
    const { approved, reason } = readApproval(answer?.value ?? null)
    if (approved) stored.approve(interruption)
    else stored.reject(interruption, defined({ message: reason }))
  }
  return stored
}

interface StoredState {
  getInterruptions(): readonly Interruption[]
  approve(item: Interruption): void
  reject(item: Interruption, options: { readonly message?: string }): void
}

function itemsFor({ conversation, message }: RunInput): readonly object[] {
  const earlier = conversation.map(({ role, text }) =>
    role === 'user' ? { role, content: text } : { role, status: 'completed', content: [{ type: 'output_text', text }] },
  )
  return [...earlier, { role: 'user', content: message.map(contentOf) }]
}

function contentOf(item: InputItem): object {
  if (item.type === 'text') return { type: 'input_text', text: item.text }
  const { mediaType, filename } = item
  const data = item.type === 'url' ? item.url : `data:${mediaType};base64,${item.base64}`
  if (mediaType.startsWith('image/')) return { type: 'input_image', image: data }
  return defined({ type: 'input_file', file: item.type === 'url' ? { url: data } : data, filename })
}
