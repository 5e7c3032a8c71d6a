import type { AdaptedFunction } from '../../core/agent/agent-function.ts'
import { fromBase64 } from '../../core/base/base64.ts'
import { defined, isList, isObject } from '../../core/base/json.ts'
import type { RemoteTarget } from '../../core/client/remote-tool.ts'
import {
  type AsToolOptions,
  isRemoteQuestion,
  isToolProgress,
  openRemoteAgent,
  type RemoteResult,
  type ToolProgress,
} from './as-tool.ts'
import {
  type AdapterOptions,
  adapterChecks,
  adaptFramework,
  asJson,
  checkAdapter,
  describeTools,
  type InputItem,
  questionText,
  type RemoteQuestion,
  type RunInput,
  type RunOutput,
} from './framework-adapter.ts'

/** The part of an agent of the Strands Agents SDK that the adapter uses. */
export interface StrandsAgent {
  readonly name?: string
  readonly tools: readonly { readonly name: string; readonly description: string }[]
  // biome-ignore lint/suspicious/noExplicitAny: the types of the SDK, which may not be installed
  stream(input: any, options?: any): AsyncGenerator<unknown, unknown, undefined>
  // biome-ignore lint/suspicious/noExplicitAny: see above
  takeSnapshot(options: any): unknown
  // biome-ignore lint/suspicious/noExplicitAny: see above
  loadSnapshot(snapshot: any): void
}

/**
 * Makes agents of the Strands Agents SDK (`@strands-agents/sdk` 1) answer A2A callers. A Strands agent is one conversation,
 * so the adapter takes a function that creates one: it is called once at start and once for each run.
 *
 * Interrupts of tools and hooks become questions, without a schema. The snapshot of a run is stored with its task while it
 * waits, with the files of the message. A tool that was interrupted runs again from its start. Give the agents
 * `printer: false`, because they write to the standard output otherwise.
 *
 * @example
 * // createAssistant returns new Agent({ model, tools, printer: false })
 * const served = agent({ name: 'Assistant' }, strands(createAssistant))
 */
export function strands(create: () => StrandsAgent, options: AdapterOptions = {}): AdaptedFunction {
  const expected = 'a function that creates an Agent of @strands-agents/sdk, such as () => new Agent({ model })'
  checkAdapter('strands', options, adapterChecks, typeof create === 'function', expected)
  const sample = create()
  checkAdapter('strands', options, adapterChecks, typeof sample?.takeSnapshot === 'function', expected)
  return adaptFramework(
    {
      name: 'strands',
      agent: sample.name ?? 'strands',
      tools: describeTools(sample.tools),
      async run(input, output) {
        const agent = create()
        if (input.resume) agent.loadSnapshot(input.resume.state)
        const result = await readStream(agent.stream(inputFor(input), { cancelSignal: input.signal }), output)
        const pending = (result.interrupts ?? []).map(({ id, name, reason }) => ({
          id,
          kind: 'input' as const,
          question: questionText(reason ?? name),
          ...(isRemoteQuestion(reason) && defined({ schema: reason.schema })),
        }))
        if (pending.length > 0) return { pending, state: asJson(agent.takeSnapshot({ preset: 'session' })) }
        if (result.structuredOutput !== undefined) await output.data(result.structuredOutput)
        return { pending }
      },
    },
    options,
  )
}

/** A tool of the Strands Agents SDK. */
// biome-ignore lint/suspicious/noExplicitAny: the types of the SDK, which may not be installed
export type StrandsTool = any

/**
 * Makes another agent a tool of the Strands Agents SDK. Its progress is streamed (`toolStreamUpdateEvent`). Its questions are
 * interrupts with the reason `{ question, schema, a2a }`, and their responses the answers. Which task waits is in the
 * `appState` of the agent. If the run is canceled, the task of the other agent is canceled.
 *
 * @example
 * // new Agent({ model, tools: [await asTool('https://prices.example.com')], printer: false })
 */
export async function asTool(target: RemoteTarget, options: AsToolOptions = {}): Promise<StrandsTool> {
  const { name, description, inputSchema, ...remote } = await openRemoteAgent(target, options)
  const { tool } = await import('@strands-agents/sdk')
  async function* callback(input: unknown, context: ToolContext): AsyncGenerator<ToolProgress, string> {
    const { toolUse, cancelSignal: signal, agent, interrupt } = context
    const { appState } = agent
    const key = `a2a:${toolUse.toolUseId}`
    const stored = appState.get(key) as OpenQuestion | undefined
    let round = stored?.round ?? 0
    let open: RemoteQuestion | undefined = stored?.open
    for (;;) {
      const run: ReturnType<typeof remote.send> = open
        ? remote.answer(open, interrupt.call(context, questionOf(open, round)), { signal })
        : remote.send(input, { signal })
      let next = await run.next()
      for (; !next.done; next = await run.next())
        yield { toolCallId: toolUse.toolUseId, tool: name, progress: next.value }
      const result: RemoteResult = next.value
      if (typeof result === 'string') {
        appState.delete(key)
        return result
      }
      open = result
      appState.set(key, { open, round: ++round } satisfies OpenQuestion)
    }
  }
  return tool({ name, description, inputSchema, callback } as never)
}

/** What the state of the agent has of a tool call that waits. */
interface OpenQuestion {
  readonly open: RemoteQuestion
  readonly round: number
}

interface ToolContext {
  readonly toolUse: { readonly toolUseId: string }
  readonly cancelSignal: AbortSignal
  readonly agent: {
    readonly appState: { get(key: string): unknown; set(key: string, value: unknown): void; delete(key: string): void }
  }
  interrupt(params: { readonly name: string; readonly reason: unknown }): unknown
}

/** Interrupts of one tool call are told apart by their names. */
function questionOf(reason: RemoteQuestion, round: number) {
  return { name: `question ${round}`, reason }
}

/** The tool by which a model gives its structured output. */
const structuredTool = 'strands_structured_output'

interface AgentResult {
  readonly interrupts?: readonly { readonly id: string; readonly name: string; readonly reason?: unknown }[]
  readonly structuredOutput?: unknown
}

interface AgentEvent {
  readonly type: string
  readonly event?: ModelEvent
  readonly contentBlock?: {
    readonly type: string
    readonly toolUseId: string
    readonly name: string
    readonly input: unknown
  }
  readonly result?: { readonly toolUseId: string; readonly status: string; readonly content: unknown }
}

interface ModelEvent {
  readonly type: string
  /** Set if the event is the progress of a tool. */
  readonly data?: unknown
  readonly delta?: { readonly type: string; readonly text?: string }
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number }
}

async function readStream(stream: AsyncGenerator<unknown, unknown>, output: RunOutput): Promise<AgentResult> {
  const names = new Map<string, string>()
  for (;;) {
    const next = await stream.next()
    if (next.done) return next.value as AgentResult
    const { type, event, contentBlock, result } = next.value as AgentEvent
    if (type === 'modelStreamUpdateEvent' && event) await readModelEvent(event, output)
    if (type === 'contentBlockEvent' && contentBlock?.type === 'toolUseBlock') {
      const { toolUseId: id, name, input } = contentBlock
      names.set(id, name)
      if (name !== structuredTool) await output.toolCall({ id, name, input })
    }
    if (type === 'toolStreamUpdateEvent' && isToolProgress(event?.data)) {
      const { toolCallId: id, tool: name, progress } = event.data
      await output.toolResult({ id, name, result: progress, isProgress: true })
    }
    if (type === 'toolResultEvent' && result) {
      const { toolUseId: id, status, content } = result
      const name = names.get(id) ?? ''
      if (name !== structuredTool) {
        await output.toolResult({ id, name, result: contentText(content), isError: status === 'error' })
      }
    }
  }
}

async function readModelEvent({ type, delta, usage }: ModelEvent, output: RunOutput): Promise<void> {
  if (type === 'modelMessageStartEvent') output.nextMessage()
  if (delta?.type === 'textDelta') await output.text(delta.text ?? '')
  if (delta?.type === 'reasoningContentDelta') await output.reasoning(delta.text ?? '')
  if (!usage) return
  await output.usage({ inputTokens: usage.inputTokens, outputTokens: usage.outputTokens })
}

function contentText(content: unknown): string {
  const blocks = isList(content) ? content.filter(isObject) : []
  return blocks.map((block) => (typeof block.text === 'string' ? block.text : JSON.stringify(block))).join('\n')
}

function inputFor({ conversation, message, resume }: RunInput): readonly object[] {
  if (resume) {
    return resume.answers.map(({ pending, value }) => ({
      interruptResponse: { interruptId: pending.id, response: value },
    }))
  }
  return [
    ...conversation.map(({ role, text }) => ({ role, content: [{ text }] })),
    { role: 'user', content: message.map(blockOf) },
  ]
}

function blockOf(item: InputItem): object {
  if (item.type === 'text') return { text: item.text }
  const [kind = '', format = ''] = item.mediaType.split('/')
  if (item.type === 'url') {
    // Only images can be addressed.
    return kind === 'image' ? { image: { format: formatOf(format), source: { url: item.url } } } : { text: item.url }
  }
  const bytes = fromBase64(item.base64) ?? new Uint8Array()
  if (kind === 'image' || kind === 'video') return { [kind]: { format: formatOf(format), source: { bytes } } }
  const name = (item.filename ?? 'file').replace(/[^A-Za-z0-9 ()[\]-]/g, '-')
  return { document: defined({ name, format: documentFormats[item.mediaType] ?? 'txt', source: { bytes } }) }
}

function formatOf(format: string): string {
  return format === 'jpg' ? 'jpeg' : format
}

const documentFormats: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
}
