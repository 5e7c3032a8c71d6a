import {
  AbstractAgent,
  type AgentConfig,
  type BaseEvent,
  EventType,
  type Interrupt,
  type Message,
  type RunAgentInput,
} from '@ag-ui/client'
import { Observable } from 'rxjs'
import { defined, isObject, type JsonObject, toJson } from '../../core/base/json.ts'
import { anObject, anything, checkOptions, listOf, type OptionChecks, text } from '../../core/base/options.ts'
import type { Part } from '../../core/protocol/model.ts'
import { commonChecks } from './common-options.ts'
import {
  type AgentSource,
  type Conversations,
  createConversations,
  errorText,
  type KeyValueStorage,
  pageStorage,
  type Run,
} from './conversations.ts'
import { type AgentQuestion, encodeAnswer, filePart } from './questions.ts'
import type { TaskView, ViewPart } from './task-view.ts'
import { changesBetween, parseShown, type ViewChange } from './view-changes.ts'

/** Options of `A2AAgent`, besides those of every AG-UI agent. */
export interface A2AAgentOptions extends AgentConfig {
  /** A client, with credentials if the agent needs some; its address; or a function that returns a client. */
  readonly agent: AgentSource
  /**
   * Where the agent keeps which task a thread is in, so that `connectAgent()` resumes it after a reload. It holds ids, never
   * messages. Defaults to `localStorage` in pages.
   */
  readonly storage?: KeyValueStorage
}

const checks: OptionChecks<A2AAgentOptions> = {
  ...commonChecks,
  agentId: text,
  description: text,
  threadId: text,
  initialMessages: listOf(anObject),
  initialState: anything,
  debug: anything,
}

/**
 * An A2A agent of any version as an agent of AG-UI: for CopilotKit and every other front end that speaks it. A run is one
 * message, and the thread is the A2A context. Questions are interrupts with the JSON Schema of their answer;
 * `runAgent({ resume })` answers them, also after a reload. `abortRun()` cancels the task, `connectAgent()` resumes it.
 *
 * @example
 * const agent = new A2AAgent({ agent: 'https://reports.example.com', threadId: 'reports' })
 * agent.addMessage({ id: '1', role: 'user', content: 'Sales of the first quarter' })
 * await agent.runAgent()
 */
export class A2AAgent extends AbstractAgent {
  private readonly options: A2AAgentOptions
  private readonly conversations: Conversations
  private activeRun: Run | undefined

  constructor(options: A2AAgentOptions) {
    checkOptions('A2AAgent', options, checks, ['agent'])
    const { agent, storage = pageStorage(), ...config } = options
    super(config)
    this.options = options
    this.conversations = createConversations(agent, storage, 'parley-a2a/threads')
  }

  run(input: RunAgentInput): Events {
    return this.observe(input, async () => {
      const { threadId, resume = [], messages } = input
      const question = this.conversations.position(threadId)?.question
      const entry = resume.find(({ interruptId }) => interruptId === question?.id)
      if (!question || !entry) return this.conversations.send(threadId, { parts: partsOf(messages) })
      if (entry.status === 'cancelled')
        return await this.conversations.abandon(threadId).then(() => 'cancelled' as const)
      const value = toJson(entry.payload, 'payload') ?? null
      return this.conversations.send(threadId, { parts: encodeAnswer(question, value) })
    })
  }

  protected override connect(input: RunAgentInput): Events {
    return this.observe(input, () => this.conversations.follow(input.threadId), true)
  }

  /** Cancels the task of the run. */
  override abortRun(): void {
    const run = this.activeRun
    run?.cancel().catch(() => run.leave())
  }

  override clone(): A2AAgent {
    const copy = new A2AAgent({ ...this.options, threadId: this.threadId })
    copy.setMessages(structuredClone(this.messages))
    copy.setState(structuredClone(this.state))
    return copy
  }

  /** `isReplay`: the messages of the run may be there already, from before a reload. */
  private observe(input: RunAgentInput, start: () => Start, isReplay = false): Events {
    const events = new Observable<BaseEvent>((subscriber) => {
      let run: Run | undefined
      const pump = async () => {
        const { threadId, runId } = input
        subscriber.next(eventOf(EventType.RUN_STARTED, { threadId, runId }))
        try {
          const started = await start()
          run = typeof started === 'object' ? started : undefined
          this.activeRun = run
          const outcome = started === 'cancelled' ? started : 'success'
          if (run) for await (const event of toEvents(input, run, isReplay)) subscriber.next(event)
          else subscriber.next(eventOf(EventType.RUN_FINISHED, { threadId, runId, outcome: { type: outcome } }))
        } catch (error) {
          subscriber.next(eventOf(EventType.RUN_ERROR, { message: errorText(error) }))
        }
        subscriber.complete()
      }
      void pump()
      return () => run?.leave()
    })
    return events as unknown as Events
  }
}

/** Of the rxjs that `@ag-ui/client` brings, which may be another copy than ours. */
type Events = ReturnType<AbstractAgent['run']>

/** A run, or how a run without a task ends. */
type Start = Run | 'cancelled' | undefined | Promise<Run | 'cancelled' | undefined>

async function* toEvents(input: RunAgentInput, run: Run, isReplay: boolean): AsyncGenerator<BaseEvent> {
  const { threadId, runId, messages } = input
  const finished = (outcome: object) => eventOf(EventType.RUN_FINISHED, { threadId, runId, outcome })
  const open = new Map<string, BaseEvent>()
  let shown: readonly ViewPart[] = []
  let last: TaskView | undefined
  for await (const view of run.views) {
    const { taskId, contextId, state, progress, parts } = view
    const prefix = `${run.messageId()}:`
    const others = messages.filter(({ id }) => !id.startsWith(prefix))
    if (!last) yield eventOf(EventType.CUSTOM, { name: 'a2a-task', value: defined({ taskId, contextId }) })
    if (!last && isReplay) yield eventOf(EventType.MESSAGES_SNAPSHOT, { messages: others })
    for (const change of changesBetween(shown, parts)) {
      if (change.type === 'reset') {
        yield* open.values()
        open.clear()
        yield eventOf(EventType.MESSAGES_SNAPSHOT, { messages: others })
      } else yield* eventsOf(change, prefix, open)
    }
    shown = parts
    if (progress !== undefined && progress !== last?.progress) {
      yield eventOf(EventType.CUSTOM, { name: 'a2a-status', value: { state, text: progress } })
    }
    last = view
  }
  yield* open.values()
  if (last?.problem !== undefined) return yield eventOf(EventType.RUN_ERROR, { message: last.problem })
  if (last?.question) return yield finished({ type: 'interrupt', interrupts: [interruptOf(last.question)] })
  yield finished({ type: last?.state === 'canceled' ? 'cancelled' : 'success' })
}

/** The events of a change. `open` has the events that end the messages which are being written. */
function* eventsOf(
  change: Exclude<ViewChange, { readonly type: 'reset' }>,
  prefix: string,
  open: Map<string, BaseEvent>,
): Generator<BaseEvent> {
  const { part, type } = change
  const messageId = `${prefix}${part.id}`
  switch (part.type) {
    case 'text':
      if (type === 'start') {
        open.set(messageId, eventOf(EventType.TEXT_MESSAGE_END, { messageId }))
        yield eventOf(EventType.TEXT_MESSAGE_START, { messageId, role: 'assistant' })
      } else if (type === 'delta') yield eventOf(EventType.TEXT_MESSAGE_CONTENT, { messageId, delta: change.delta })
      else yield* end(messageId, open)
      return
    case 'reasoning':
      if (type === 'start') {
        open.set(messageId, eventOf(EventType.REASONING_MESSAGE_END, { messageId }))
        yield eventOf(EventType.REASONING_MESSAGE_START, { messageId, role: 'reasoning' })
      } else if (type === 'delta')
        yield eventOf(EventType.REASONING_MESSAGE_CONTENT, { messageId, delta: change.delta })
      else yield* end(messageId, open)
      return
    case 'tool': {
      const { id: toolCallId, name: toolCallName, state, result = null } = part
      const input = parseShown(part.input) ?? {}
      if (type === 'start') {
        yield eventOf(EventType.TOOL_CALL_START, { toolCallId, toolCallName, parentMessageId: messageId })
        yield eventOf(EventType.TOOL_CALL_ARGS, { toolCallId, delta: JSON.stringify(input) })
        yield eventOf(EventType.TOOL_CALL_END, { toolCallId })
      } else if (state === 'done' || state === 'failed') {
        const content = typeof result === 'string' ? result : JSON.stringify(result)
        yield eventOf(EventType.TOOL_CALL_RESULT, { messageId: `${messageId}/result`, toolCallId, content })
      }
      return
    }
    case 'file': {
      const { url, mediaType, name } = part
      const content = defined({ url, mediaType, name })
      return yield eventOf(EventType.ACTIVITY_SNAPSHOT, { messageId, activityType: 'a2a-file', content })
    }
    case 'data': {
      const { source: artifactId, name, data } = part
      const content = defined({ artifactId, name, data })
      return yield eventOf(EventType.ACTIVITY_SNAPSHOT, { messageId, activityType: 'a2a-data', content })
    }
    case 'question':
      // Interrupts are in the outcome of the run.
      return
  }
}

function* end(messageId: string, open: Map<string, BaseEvent>): Generator<BaseEvent> {
  const event = open.get(messageId)
  open.delete(messageId)
  if (event) yield event
}

const decisionSchema: JsonObject = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

function interruptOf(question: AgentQuestion): Interrupt {
  const { id, kind, text, isSensitive, taskId, tool, input, urls, schemes } = question
  const responseSchema = question.schema ?? (kind === 'approval' ? decisionSchema : undefined)
  const metadata = defined({ taskId, isSensitive, tool, input, urls, schemes })
  return defined({ id, reason: kind, message: text, responseSchema, metadata })
}

/** The messages of the person since the agent spoke last. */
function partsOf(messages: readonly Message[]): readonly Part[] {
  const last = messages.findLastIndex(({ role }) => role !== 'user')
  const parts = messages.slice(last + 1).flatMap((message) => (message.role === 'user' ? contentOf(message) : []))
  if (parts.length === 0) throw new Error('There is nothing to send: the last message is not one of the user.')
  return parts
}

function contentOf({ content }: Extract<Message, { role: 'user' }>): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }]
  return content.flatMap((part): readonly Part[] => {
    if (part.type === 'text') return [{ text: part.text }]
    const { source } = part
    const name: unknown = isObject(part.metadata) ? part.metadata.filename : undefined
    const members = defined({ mediaType: source.mimeType, filename: typeof name === 'string' ? name : undefined })
    if (source.type === 'data') return [{ raw: source.value, ...members }]
    return source.type === 'url' ? [filePart({ url: source.value, ...members })] : []
  })
}

function eventOf(type: EventType, members: object): BaseEvent {
  return { type, ...members } as BaseEvent
}
