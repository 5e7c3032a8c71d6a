import type { AdaptedFunction } from '../../core/agent/agent-function.ts'
import { defined, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import { anObject } from '../../core/base/options.ts'
import type { RemoteTarget } from '../../core/client/remote-tool.ts'
import { type AsToolOptions, drain, isRemoteQuestion, openRemoteAgent, type RemoteProgress } from './as-tool.ts'
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
} from './framework-adapter.ts'

/** The part of a Mastra agent that the adapter uses. */
export interface MastraAgent {
  readonly id: string
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: the types of Mastra, which may not be installed
  stream(messages: any, options?: any): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: see above
  resumeStream(data: any, options: any): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: see above
  approveToolCall(options: any): Promise<any>
  // biome-ignore lint/suspicious/noExplicitAny: see above
  declineToolCall(options: any): Promise<any>
}

/** Options of `mastra`. */
export interface MastraOptions extends AdapterOptions {
  /** Options of every `agent.stream()` call, such as `maxSteps` or `structuredOutput`. */
  readonly stream?: Readonly<Record<string, unknown>>
  /** The tools to list as skills: Mastra tells those of an agent only when it runs. */
  readonly tools?: Readonly<Record<string, object>>
}

/**
 * Makes an agent of Mastra (`@mastra/core` 1) answer A2A callers.
 *
 * Suspended tools become questions, with their `resumeSchema`; tools with `requireApproval` become approvals. Mastra presents
 * them one after the other. What it needs to resume is stored with the task while it waits, so the agent needs no storage of
 * its own: without one, the adapter registers the agent with storage in memory. An agent with Mastra memory gets a thread
 * and a resource of its own for each conversation; one without it gets the messages of the conversation. With memory, a run
 * that is repeated after a crash may find its message there already. Mastra prints errors of the model to the console,
 * unless its logger is off.
 *
 * @example
 * // assistant is an Agent of @mastra/core
 * const served = agent({ name: 'Assistant' }, mastra(assistant))
 */
export function mastra(source: MastraAgent, options: MastraOptions = {}): AdaptedFunction {
  const isAgent = typeof source?.stream === 'function' && typeof source.resumeStream === 'function'
  checkAdapter(
    'mastra',
    options,
    { ...adapterChecks, stream: anObject, tools: anObject },
    isAgent,
    'an Agent of @mastra/core',
  )
  const structured = options.stream?.structuredOutput !== undefined
  let opened: Promise<WorkflowStore> | undefined
  return adaptFramework(
    {
      name: 'mastra',
      agent: source.id,
      tools: describeTools(options.tools),
      async run(input, output) {
        opened ??= openStore(source)
        const store = await opened
        const state = input.resume?.state as unknown as RunState | undefined
        const runId = state?.runId ?? crypto.randomUUID()
        const hasMemory = (source as { hasOwnMemory?(): boolean }).hasOwnMemory?.() === true
        const memory = hasMemory ? { thread: input.thread, resource: input.thread } : undefined
        const call = defined({ ...options.stream, runId, memory, abortSignal: input.signal })
        for (const row of state?.rows ?? []) await store.persistWorkflowSnapshot(row)
        let pending: readonly Pending[] = []
        let result: StreamedRun | undefined
        for (const start of input.resume?.answers.map((answer) => () => resume(source, answer, call)) ?? [
          () => source.stream(messagesFor(input, hasMemory), call),
        ]) {
          result = (await start()) as StreamedRun
          pending = await readStream(result, output, structured)
        }
        input.signal.throwIfAborted()
        if (pending.length > 0) return { pending, state: asJson({ runId, rows: await takeRows(store, runId) }) }
        if (structured) await output.data(await result?.object)
        return { pending }
      },
    },
    options,
  )
}

/** A tool of Mastra. */
// biome-ignore lint/suspicious/noExplicitAny: the types of Mastra, which may not be installed
export type MastraTool = any

/**
 * Makes another agent a tool of Mastra. Its progress is written to the stream (`tool-output`). Its questions suspend the
 * tool with `{ question, schema, a2a }`, and `resumeStream({ answer })` continues it. If the run is aborted, the task of the
 * other agent is canceled.
 *
 * @example
 * // new Agent({ …, tools: { prices: await asTool('https://prices.example.com') } })
 */
export async function asTool(target: RemoteTarget, options: AsToolOptions = {}): Promise<MastraTool> {
  const { name, description, inputSchema, ...remote } = await openRemoteAgent(target, options)
  const { createTool } = await import('@mastra/core/tools')
  const tool = {
    id: name,
    description,
    inputSchema,
    resumeSchema: { type: 'object', properties: { answer: {} }, required: ['answer'] },
    async execute(input: unknown, { agent = {}, abortSignal: signal, writer }: ToolContext) {
      const { resumeData, suspendPayload, suspend } = agent
      const run =
        resumeData && isRemoteQuestion(suspendPayload)
          ? remote.answer(suspendPayload, resumeData.answer, { signal })
          : remote.send(input, { signal })
      const result = await drain(run, (progress) => writer?.write(progress))
      if (typeof result === 'string') return result
      if (!suspend) throw new Error(`"${result.a2a.agent}" asks, and nothing can answer here: ${result.question}`)
      return await suspend(result)
    },
  }
  return createTool(tool as never)
}

interface ToolContext {
  readonly agent?: {
    readonly resumeData?: { readonly answer: unknown }
    readonly suspendPayload?: unknown
    suspend?(payload: RemoteQuestion): Promise<void>
  }
  readonly abortSignal?: AbortSignal
  readonly writer?: { write(progress: RemoteProgress): Promise<void> }
}

interface RunState {
  readonly runId: string
  readonly rows: readonly WorkflowRow[]
}

interface WorkflowRow {
  readonly workflowName: string
  readonly runId: string
  readonly resourceId?: string
  readonly snapshot: unknown
}

/** Where Mastra stores suspended runs. */
interface WorkflowStore {
  persistWorkflowSnapshot(row: WorkflowRow): Promise<void>
  listWorkflowRuns(query: object): Promise<{ readonly runs: readonly WorkflowRow[] }>
  deleteWorkflowRunById(row: WorkflowRow): Promise<void>
}

interface Storage {
  getStore(name: 'workflows'): Promise<WorkflowStore>
}

async function openStore(source: MastraAgent): Promise<WorkflowStore> {
  const registered = (
    source as { getMastraInstance?(): { getStorage(): Storage | undefined } | undefined }
  ).getMastraInstance?.()
  const storage = registered?.getStorage()
  if (storage) return await storage.getStore('workflows')
  const [{ Mastra }, { InMemoryStore }] = await Promise.all([import('@mastra/core'), import('@mastra/core/storage')])
  const memory = new InMemoryStore()
  new Mastra({ agents: { [source.id]: source as never }, storage: memory, logger: false })
  return (await memory.getStore('workflows')) as never
}

/** The rows of a suspended run. They are in the result of the step from now on. */
async function takeRows(store: WorkflowStore, runId: string): Promise<readonly WorkflowRow[]> {
  const { runs } = await store.listWorkflowRuns({})
  const rows = runs.filter((row) => row.runId === runId)
  for (const row of rows) await store.deleteWorkflowRunById(row)
  return rows.map(({ workflowName, resourceId, snapshot }) => {
    const value = typeof snapshot === 'string' ? parseJson(snapshot) : snapshot
    return { ...defined({ workflowName, runId, resourceId }), snapshot: value }
  })
}

function resume(source: MastraAgent, { pending, value }: RunAnswer, call: object): Promise<unknown> {
  const options = { ...call, toolCallId: pending.id }
  if (pending.carry === 'remote') return source.resumeStream({ answer: value }, options)
  if (pending.kind === 'input') return source.resumeStream(value, options)
  return readApproval(value).approved ? source.approveToolCall(options) : source.declineToolCall(options)
}

interface StreamedRun {
  readonly fullStream: AsyncIterable<{ readonly type: string; readonly payload?: ChunkPayload }>
  readonly object: Promise<unknown>
}

interface ChunkPayload {
  readonly text?: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly args?: unknown
  readonly result?: unknown
  readonly isError?: boolean
  readonly error?: unknown
  readonly output?: unknown
  readonly suspendPayload?: unknown
  readonly resumeSchema?: unknown
  readonly reason?: unknown
}

async function readStream(result: StreamedRun, output: RunOutput, structured: boolean): Promise<readonly Pending[]> {
  const pending: Pending[] = []
  let failure: { readonly error: unknown } | undefined
  for await (const { type, payload = {} } of result.fullStream) {
    const { text = '', toolCallId: id = '', toolName: name = '' } = payload
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
        await output.toolCall({ id, name, input: payload.args })
        break
      case 'tool-output':
        await output.toolResult({ id, name, result: payload.output, isProgress: true })
        break
      case 'tool-result':
        await output.toolResult({ id, name, result: payload.result, isError: payload.isError === true })
        break
      case 'tool-error':
        await output.toolResult({ id, name, result: `${payload.error}`, isError: true })
        break
      case 'tool-call-approval':
        pending.push(approvalOf(id, name, payload.args))
        break
      case 'tool-call-suspended':
        pending.push(suspendedOf(id, payload))
        break
      case 'step-finish': {
        const usage = isObject(payload.output) ? payload.output.usage : undefined
        const { inputTokens, outputTokens } = isObject(usage) ? (usage as Readonly<Record<string, Json>>) : {}
        await output.usage(
          defined({
            inputTokens: typeof inputTokens === 'number' ? inputTokens : undefined,
            outputTokens: typeof outputTokens === 'number' ? outputTokens : undefined,
          }),
        )
        break
      }
      case 'tripwire':
        failure ??= { error: Object.assign(new Error(`${payload.reason}`), { name: 'TripwireTriggered' }) }
        break
      case 'error':
        failure ??= { error: payload.error }
        break
    }
  }
  if (failure) throw failure.error
  return pending
}

function suspendedOf(id: string, { suspendPayload, resumeSchema }: ChunkPayload): Pending {
  if (isRemoteQuestion(suspendPayload)) {
    const { question, schema } = suspendPayload
    return { id, kind: 'input', question, schema, carry: 'remote' }
  }
  const schema = typeof resumeSchema === 'string' ? parseJson(resumeSchema) : resumeSchema
  const question = questionText(suspendPayload)
  return { id, kind: 'input', question, schema: isObject(schema) ? (schema as JsonObject) : undefined }
}

function messagesFor({ conversation, message }: RunInput, hasMemory: boolean): readonly object[] {
  const earlier = hasMemory ? [] : conversation.map(({ role, text }) => ({ role, content: text }))
  return [...earlier, { role: 'user', content: message.map(contentOf) }]
}

function contentOf(item: InputItem): object {
  if (item.type === 'text') return item
  const { mediaType, filename } = item
  const data = item.type === 'url' ? item.url : item.base64
  return defined({ type: 'file', data, mediaType, mimeType: mediaType, filename })
}
