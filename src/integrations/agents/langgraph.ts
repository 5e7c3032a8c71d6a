import type { AdaptedFunction } from '../../core/agent/agent-function.ts'
import { fromBase64, toBase64 } from '../../core/base/base64.ts'
import { defined, isList, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import { aFunction } from '../../core/base/options.ts'
import type { RemoteTarget } from '../../core/client/remote-tool.ts'
import {
  type AsToolOptions,
  drain,
  isRemoteQuestion,
  isToolProgress,
  openRemoteAgent,
  type RemoteProgress,
  type ToolProgress,
} from './as-tool.ts'
import {
  type AdapterOptions,
  type AgentTool,
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
  readApproval,
  toJsonSchema,
} from './framework-adapter.ts'

/** The part of a compiled graph of LangGraph that the adapter uses. */
export interface LangGraphGraph {
  readonly name?: string
  // biome-ignore lint/suspicious/noExplicitAny: the types of the state depend on the graph
  stream(input: any, options?: any): Promise<AsyncIterable<unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: see above
  getState(config: any, options?: any): Promise<{ readonly values: unknown }>
}

/** Options of `langgraph`. */
export interface LangGraphOptions extends AdapterOptions {
  /** Makes the input of the graph from messages `{ role, content }`. Defaults to `{ messages }`. */
  readonly input?: (messages: readonly object[]) => object
  /** The tools to list as skills: graphs do not say which they have, except those of `createReactAgent`. */
  readonly tools?: readonly { readonly name: string; readonly description?: string; readonly schema?: unknown }[]
}

/**
 * Makes a compiled graph of LangGraph (`@langchain/langgraph` 1) answer A2A callers.
 *
 * `interrupt(…)` becomes a question, with its `responseSchema` if it has one; requests of the human-in-the-loop middleware
 * become approvals. The state of the graph is stored with the task while it waits, so the graph's own checkpointer is not
 * used. Each task starts from the messages of the conversation: other state of earlier tasks is not kept.
 *
 * LangGraph runs a node again from its start when it resumes. A tool must do nothing before `interrupt()` that may not
 * happen twice.
 *
 * @example
 * // graph comes from createReactAgent({ llm, tools })
 * const served = agent({ name: 'Assistant' }, langgraph(graph))
 */
export function langgraph(graph: LangGraphGraph, options: LangGraphOptions = {}): AdaptedFunction {
  const isGraph = typeof graph?.stream === 'function' && typeof graph.getState === 'function'
  const checks = { ...adapterChecks, input: aFunction, tools: adapterChecks.skills }
  checkAdapter('langgraph', options, checks, isGraph, 'a compiled graph, such as graph.compile() or createReactAgent()')
  const { input: inputOf = (messages) => ({ messages }), tools = toolsOf(graph) } = options
  return adaptFramework(
    {
      name: 'langgraph',
      agent: graph.name ?? 'langgraph',
      tools,
      async run(input, output) {
        const { MemorySaver, Command } = await import('@langchain/langgraph')
        const saver = loadSaver(new MemorySaver(), input.resume?.state)
        const config = { configurable: { thread_id: input.thread, __pregel_checkpointer: saver } }
        const start = input.resume
          ? new Command({ resume: resumeOf(input.resume.answers) })
          : inputOf(messagesFor(input))
        const streamed = { ...config, signal: input.signal, streamMode: ['messages', 'updates', 'custom'] }
        const pending = await readStream(await graph.stream(start, streamed), output)
        if (pending.length > 0) return { pending, state: dumpSaver(saver) }
        const { values } = await graph.getState(config)
        const structured = isObject(values) ? values.structuredResponse : undefined
        if (structured !== undefined) await output.data(structured)
        return { pending }
      },
    },
    options,
  )
}

/** A tool of LangGraph (`StructuredTool`). */
// biome-ignore lint/suspicious/noExplicitAny: the types of LangGraph, which may not be installed
export type LangGraphTool = any

/**
 * Makes another agent a tool of LangGraph. Its progress is written to the stream mode `custom`. Its questions are
 * interrupts with the value `{ question, schema, a2a }`; `Command({ resume })` has the answer. They need a checkpointer. If
 * the run is aborted, the task of the other agent is canceled.
 *
 * LangGraph runs the tool again when it resumes: the tool then finds its task in the checkpoint. With two of these tools in
 * one step of `createReactAgent`, an answered one may run again; agents that recognise repeated messages then answer once.
 *
 * @example
 * // const graph = createReactAgent({ llm, tools: [await asTool('https://prices.example.com')] })
 */
export async function asTool(target: RemoteTarget, options: AsToolOptions = {}): Promise<LangGraphTool> {
  const remote = await openRemoteAgent(target, options)
  const [{ tool }, { interrupt }] = await Promise.all([import('@langchain/core/tools'), import('@langchain/langgraph')])
  const run = async (input: unknown, config: ToolConfig) => {
    const { signal, writer, toolCall, configurable } = config
    const call = { signal, key: keyOf(configurable?.thread_id, toolCall?.id) }
    const report = (progress: RemoteProgress) =>
      writer?.({ toolCallId: toolCall?.id ?? '', tool: remote.name, progress } satisfies ToolProgress)
    let open = await openInterrupt(config)
    let round = open?.round ?? 0
    for (;;) {
      const result = open
        ? // Each interrupt of a tool has its own answer, in the order of the calls.
          await drain(
            remote.answer(
              open,
              answerOf(() => interrupt(open), round),
              call,
            ),
            report,
          )
        : await drain(remote.send(input, call), report)
      if (typeof result === 'string') return result
      open = { ...result, round: ++round, toolCallId: toolCall?.id ?? '' }
    }
  }
  return tool(run, { name: remote.name, description: remote.description, schema: remote.inputSchema })
}

/** The value of an interrupt. */
interface OpenQuestion extends RemoteQuestion {
  readonly toolCallId: string
  /** How many questions the tool has asked, with this one. */
  readonly round: number
}

interface ToolConfig {
  readonly signal?: AbortSignal
  readonly writer?: (chunk: unknown) => void
  readonly toolCall?: { readonly id?: string }
  readonly configurable?: {
    readonly thread_id?: string
    readonly checkpoint_ns?: string
    readonly __pregel_checkpointer?: { getTuple(config: object): Promise<CheckpointTuple | undefined> }
  }
}

interface CheckpointTuple {
  readonly pendingWrites?: readonly (readonly [string, string, unknown])[]
}

function answerOf(next: () => unknown, rounds: number): unknown {
  let answer: unknown
  for (let round = 0; round < rounds; round++) answer = next()
  return answer
}

function keyOf(thread: string | undefined, call: string | undefined): string | undefined {
  return thread === undefined || call === undefined ? undefined : `${thread}-${call}`
}

/** The question that this tool call has asked before the run was interrupted. */
async function openInterrupt({ configurable, toolCall }: ToolConfig): Promise<OpenQuestion | undefined> {
  const { thread_id, checkpoint_ns = '', __pregel_checkpointer: checkpointer } = configurable ?? {}
  if (typeof checkpointer?.getTuple !== 'function') return undefined
  // The last part of the namespace is that of the node; its interrupts are written to the graph around it.
  const parent = checkpoint_ns.split('|').slice(0, -1).join('|')
  const tuple = await checkpointer.getTuple({ configurable: { thread_id, checkpoint_ns: parent } })
  const values = (tuple?.pendingWrites ?? []).flatMap(([, channel, value]) =>
    channel === '__interrupt__' ? (isList(value) ? value : [value]).map((each) => (each as Interrupt).value) : [],
  )
  return values.findLast(
    (value): value is OpenQuestion => isRemoteQuestion(value) && (value as OpenQuestion).toolCallId === toolCall?.id,
  )
}

/** The node of `createReactAgent` whose text is the structured response. */
const structuredNode = 'generate_structured_response'

async function readStream(stream: AsyncIterable<unknown>, output: RunOutput): Promise<readonly Pending[]> {
  const pending: Pending[] = []
  let lastMessage: string | undefined
  for await (const item of stream as AsyncIterable<readonly [string, unknown]>) {
    const [mode, data] = item
    if (mode === 'messages') {
      const [chunk, meta] = data as readonly [GraphMessage, { readonly langgraph_node?: string }]
      if (typeOf(chunk) !== 'ai' || meta.langgraph_node === structuredNode) continue
      if (chunk.id !== lastMessage) output.nextMessage()
      lastMessage = chunk.id
      for (const text of reasoningOf(chunk)) await output.reasoning(text)
      await output.text(textOf(chunk))
    } else if (mode === 'custom' && isToolProgress(data)) {
      const { toolCallId: id, tool: name, progress } = data
      await output.toolResult({ id, name, result: progress, isProgress: true })
    } else if (mode === 'updates') {
      for (const [node, update] of Object.entries(data as object)) {
        if (node === '__interrupt__') pending.push(...(update as readonly Interrupt[]).flatMap(pendingOf))
        else for (const message of messagesIn(update)) await report(message, output)
      }
    }
  }
  return pending
}

/** Reports what a finished node has added: tool calls, their results, and what the model used. */
async function report(message: GraphMessage, output: RunOutput): Promise<void> {
  if (typeOf(message) === 'tool') {
    const { tool_call_id: id = '', name = '', content, status } = message
    await output.toolResult({ id, name, result: content, isError: status === 'error' })
    return
  }
  for (const { id = '', name, args } of message.tool_calls ?? []) await output.toolCall({ id, name, input: args })
  const { usage_metadata: usage, response_metadata: metadata } = message
  if (!usage) return
  const model = typeof metadata?.model_name === 'string' ? metadata.model_name : undefined
  await output.usage(defined({ model, inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }))
}

interface Interrupt {
  readonly id?: string
  readonly value: unknown
  readonly response_schema?: unknown
}

/** One question, or one for each tool call that the human-in-the-loop middleware wants to have reviewed. */
function pendingOf({ id = '', value, response_schema: responseSchema }: Interrupt): readonly Pending[] {
  const requests = isObject(value) ? value.actionRequests : undefined
  if (isList(requests)) {
    return requests.map((request) => {
      const { name = 'a tool', args } = request as { readonly name?: string; readonly args?: unknown }
      return approvalOf(id, name, args, 'decision')
    })
  }
  const schema = isRemoteQuestion(value) ? value.schema : toJsonSchema(responseSchema)
  return [defined({ id, kind: 'input' as const, question: questionText(value), schema })]
}

/** The answers by the ids of their interrupts. */
function resumeOf(answers: readonly RunAnswer[]): Json {
  const byId: Record<string, Json> = {}
  for (const { pending, value } of answers) {
    if (pending.carry !== 'decision') {
      byId[pending.id] = value
      continue
    }
    const { approved, reason } = readApproval(value)
    const decision = approved ? { type: 'approve' } : defined({ type: 'reject', message: reason })
    const earlier = byId[pending.id]
    const decisions = isObject(earlier) && isList(earlier.decisions) ? (earlier.decisions as readonly Json[]) : []
    byId[pending.id] = { decisions: [...decisions, decision as JsonObject] }
  }
  return byId
}

function messagesFor({ conversation, message }: RunInput): readonly object[] {
  return [
    ...conversation.map(({ role, text }) => ({ role, content: text })),
    { role: 'user', content: message.map(blockOf) },
  ]
}

function blockOf(item: InputItem): object {
  if (item.type === 'text') return item
  const [kind = ''] = item.mediaType.split('/')
  const type = ['image', 'audio', 'video'].includes(kind) ? kind : 'file'
  const metadata = item.filename === undefined ? undefined : { filename: item.filename }
  const source =
    item.type === 'url' ? { source_type: 'url', url: item.url } : { source_type: 'base64', data: item.base64 }
  return defined({ type, ...source, mime_type: item.mediaType, mimeType: item.mediaType, metadata })
}

interface GraphMessage {
  readonly id?: string
  readonly name?: string
  readonly content?: unknown
  readonly tool_call_id?: string
  readonly status?: string
  readonly tool_calls?: readonly { readonly id?: string; readonly name: string; readonly args: unknown }[]
  readonly usage_metadata?: { readonly input_tokens: number; readonly output_tokens: number }
  readonly response_metadata?: { readonly model_name?: unknown }
  getType?(): string
}

function typeOf(message: GraphMessage): string {
  return message.getType?.() ?? ''
}

function blocksOf({ content }: GraphMessage): readonly Readonly<Record<string, unknown>>[] {
  return isList(content) ? content.filter(isObject) : []
}

function textOf(message: GraphMessage): string {
  if (typeof message.content === 'string') return message.content
  return blocksOf(message)
    .map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : ''))
    .join('')
}

function reasoningOf(message: GraphMessage): readonly string[] {
  return blocksOf(message).flatMap(({ type, reasoning, thinking }) => {
    const text = type === 'reasoning' ? reasoning : type === 'thinking' ? thinking : undefined
    return typeof text === 'string' ? [text] : []
  })
}

function messagesIn(update: unknown): readonly GraphMessage[] {
  const updates = isList(update) ? update : [update]
  return updates.flatMap((each) => {
    const messages = isObject(each) ? (each as { readonly messages?: unknown }).messages : undefined
    return (isList(messages) ? messages : messages === undefined ? [] : [messages]) as readonly GraphMessage[]
  })
}

/** The tools of the node `tools`, as `createReactAgent` makes it. */
function toolsOf(graph: LangGraphGraph): readonly AgentTool[] {
  const { nodes } = graph as {
    readonly nodes?: Readonly<Record<string, { readonly bound?: { readonly tools?: unknown } }>>
  }
  return describeTools(nodes?.tools?.bound?.tools)
}

/** The content of a `MemorySaver`: bytes by names. */
interface Saver {
  storage: Record<string, unknown>
  writes: Record<string, unknown>
}

function dumpSaver({ storage, writes }: Saver): Json {
  return asJson(
    mapBytes({ storage, writes }, (value) => (value instanceof Uint8Array ? { bytes: toBase64(value) } : value)),
  )
}

function loadSaver(saver: Saver, state: Json | undefined): Saver {
  if (state === undefined) return saver
  const loaded = mapBytes(state, (value) => {
    const bytes = isObject(value) && typeof value.bytes === 'string' ? fromBase64(value.bytes) : undefined
    return bytes ?? value
  }) as Saver
  saver.storage = loaded.storage
  saver.writes = loaded.writes
  return saver
}

/** Copies objects and lists, and converts what is in them. */
function mapBytes(value: unknown, convert: (value: unknown) => unknown): unknown {
  const converted = convert(value)
  if (converted !== value || typeof value !== 'object' || value === null) return converted
  if (isList(value)) return value.map((item) => mapBytes(item, convert))
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapBytes(member, convert)]))
}
