import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai'
import { defined, isObject, type Json, type JsonObject, toJson } from '../../core/base/json.ts'
import { checkOptions, flag, type OptionChecks } from '../../core/base/options.ts'
import type { Part, TaskStatus } from '../../core/protocol/model.ts'
import { isEnded } from '../../core/protocol/states.ts'
import { commonChecks } from './common-options.ts'
import {
  type AgentSource,
  type Conversations,
  createConversations,
  errorText,
  type KeyValueStorage,
  pageStorage,
  type Replay,
  type Run,
  replay,
} from './conversations.ts'
import { type AgentQuestion, encodeAnswer, filePart, resultPart } from './questions.ts'
import type { TaskView, ViewPart } from './task-view.ts'
import { changesBetween, parseShown, type ViewChange } from './view-changes.ts'

/** The names of the tool parts in which questions appear, unless the agent names a tool. */
const toolNames = { input: 'ask', approval: 'approve', tool: 'tool', credentials: 'authenticate' } as const

/** What the page shows in place of a secret. */
const redacted = '[redacted]'

/** Options of `A2AChatTransport`. */
export interface A2AChatTransportOptions {
  /** A client, with credentials if the agent needs some; its address; or a function that returns a client. */
  readonly agent: AgentSource
  /**
   * Where the transport keeps which task a chat is in, so that a reloaded page resumes it. It holds ids, never messages.
   * Defaults to `localStorage` in pages.
   */
  readonly storage?: KeyValueStorage
  /** Whether `stop()` cancels the task. Otherwise, it stops reading, and the task continues. Defaults to true. */
  readonly cancelOnStop?: boolean
}

const checks: OptionChecks<A2AChatTransportOptions> = { ...commonChecks, cancelOnStop: flag }

/**
 * Connects `useChat` of the AI SDK to an agent of any A2A version. Texts stream, tools and reasoning of the agent are tool
 * and reasoning parts, artifacts are text, file and `data-artifact` parts. A question is text and a tool part: `approve` for
 * yes or no, the name of the tool if the page shall run one, otherwise `ask`, whose input has the JSON Schema of the answer.
 * `stop()` cancels the task, and `resume: true` continues it after a reload.
 *
 * @example
 * const transport = new A2AChatTransport({ agent: 'https://reports.example.com' })
 * const chat = useChat({ id: 'reports', transport, resume: true })
 */
export class A2AChatTransport<Message extends UIMessage = UIMessage> implements ChatTransport<Message> {
  /** A resumed stream repeats its message from the start. */
  readonly resumeStreamIsReplay = true
  readonly #conversations: Conversations
  readonly #cancelOnStop: boolean
  /** The run that each chat shows. */
  readonly #runs = new Map<string, Run>()

  constructor(options: A2AChatTransportOptions) {
    checkOptions('A2AChatTransport', options, checks, ['agent'])
    const { agent, storage = pageStorage(), cancelOnStop = true } = options
    this.#conversations = createConversations(agent, storage, 'parley-a2a/chats', replayAnswered)
    this.#cancelOnStop = cancelOnStop
  }

  sendMessages: ChatTransport<Message>['sendMessages'] = async (request) => {
    const { trigger, chatId, messages, abortSignal, body } = request
    const message = messages.at(-1)
    if (!message) throw new Error('There is no message to send.')
    const headers = request.headers && Object.fromEntries(new Headers(request.headers))
    const options = { headers, metadata: isObject(body) ? (toJson(body, 'body') as JsonObject) : undefined }
    if (message.role !== 'assistant') {
      const isNew = trigger === 'regenerate-message'
      const run = this.#conversations.send(chatId, { ...options, parts: partsOf(message), isNew })
      return this.#toStream(chatId, run, abortSignal)
    }
    const question = this.#conversations.position(chatId)?.question
    const answer = question && answerIn(message, question)
    if (!question || !answer) {
      throw new Error('There is nothing to send: the last message answers no open question of the agent.')
    }
    const isFailure = 'failure' in answer
    const parts = isFailure ? [resultPart(question, answer.failure, true)] : encodeAnswer(question, answer.value)
    const run = this.#conversations.send(chatId, { ...options, parts, continuesMessage: true })
    return this.#toStream(chatId, run, abortSignal, outcomeOf(question, answer))
  }

  reconnectToStream: ChatTransport<Message>['reconnectToStream'] = async ({ chatId, abortSignal }) => {
    const run = this.#conversations.follow(chatId)
    return run ? this.#toStream(chatId, run, abortSignal) : null
  }

  /** Forgets a chat: its next message starts a conversation of its own. */
  forget(chatId: string): void {
    this.#conversations.forget(chatId)
  }

  /** `first` closes the question that the run answers, in the message that it continues. */
  #toStream(
    chatId: string,
    run: Run,
    abortSignal: AbortSignal | undefined,
    first?: readonly UIMessageChunk[],
  ): ReadableStream<UIMessageChunk> {
    this.#runs.set(chatId, run)
    abortSignal?.addEventListener('abort', () => void this.#stop(chatId, run), { once: true })
    if (abortSignal?.aborted) void this.#stop(chatId, run)
    const chunks = toChunks(run, first)
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      // The chat stops reading when it is stopped: `#stop` ends the run.
      cancel: () => (abortSignal?.aborted ? undefined : run.leave()),
    })
  }

  async #stop(chatId: string, run: Run): Promise<void> {
    // A chat that resumes again stops the stream that it resumed before. That is no wish to cancel.
    await Promise.resolve()
    try {
      if (this.#cancelOnStop && this.#runs.get(chatId) === run) await run.cancel()
    } catch {
      // The task has ended, or the agent cannot cancel it: the chat has stopped all the same.
    } finally {
      run.leave()
    }
  }
}

/** A message shows a task across its answered questions, at each of which a stream ends. */
const replayAnswered: Replay = async function* (client, taskId, after, signal) {
  for (let from = after; ; ) {
    let last: TaskStatus | undefined
    for await (const event of replay(client, taskId, from, signal)) {
      yield event
      if (event.type === 'message') return
      if (event.type !== 'artifact') last = event.type === 'task' ? event.task.status : event.status
      from = event.type === 'task' ? event.task.generation : event.generation
    }
    if (signal.aborted || last === undefined || isEnded(last.state)) return
    const { status } = await client.task(taskId).get({ signal, historyLength: 0 })
    if (status.state === last.state && status.message?.messageId === last.message?.messageId) return
  }
}

async function* toChunks(run: Run, first: readonly UIMessageChunk[] = []): AsyncGenerator<UIMessageChunk> {
  let shown: readonly ViewPart[] = []
  /** The parts before are in earlier steps. */
  let stepStart = 0
  let last: TaskView | undefined
  try {
    for await (const view of run.views) {
      const { taskId, contextId, state, progress } = view
      if (!last) {
        const messageId = first.length > 0 ? undefined : run.messageId()
        yield defined({ type: 'start', messageId, messageMetadata: defined({ taskId, contextId }) })
        yield* first
        yield { type: 'start-step' }
      }
      const parts = view.parts.slice(stepStart)
      for (const change of changesBetween(shown, parts)) yield* chunksOf(change)
      shown = parts
      if (parts.some((part) => part.type === 'question' && !part.isOpen)) {
        // An answered question belongs to a step that is over: otherwise, the chat would send it again.
        yield* [{ type: 'finish-step' }, { type: 'start-step' }] satisfies UIMessageChunk[]
        stepStart += shown.length
        shown = []
      }
      if (progress !== undefined && progress !== last?.progress) {
        yield { type: 'data-status', data: { state, text: progress }, transient: true }
      }
      last = view
    }
  } catch (error) {
    return yield { type: 'error', errorText: errorText(error) }
  }
  if (!last) return
  const running = last.question ? [] : shown.filter((part) => part.type === 'tool' && /called|working/.test(part.state))
  for (const { id } of running) {
    // A task that ended early leaves no tool running.
    const errorText = 'The task ended before the tool did.'
    yield { type: 'tool-output-error', toolCallId: id, errorText, dynamic: true, providerExecuted: true }
  }
  yield { type: 'finish-step' }
  if (last.problem !== undefined) return yield { type: 'error', errorText: last.problem }
  yield { type: 'finish', finishReason: last.question ? 'tool-calls' : 'stop' }
}

function* chunksOf(change: ViewChange): Generator<UIMessageChunk> {
  if (change.type === 'reset') return yield { type: 'reset-step' }
  const { part } = change
  const { id } = part
  switch (part.type) {
    case 'text':
    case 'reasoning':
      if (change.type === 'start') yield { type: `${part.type}-start`, id }
      if (change.type === 'delta') yield { type: `${part.type}-delta`, id, delta: change.delta }
      if (change.type === 'update') yield { type: `${part.type}-end`, id }
      return
    case 'tool': {
      const { name, state } = part
      const [input = {}, result = null] = [parseShown(part.input), parseShown(part.result)]
      const common = { toolCallId: id, dynamic: true, providerExecuted: true }
      if (change.type === 'start') yield { type: 'tool-input-available', ...common, toolName: name, input }
      else if (state === 'failed') yield { type: 'tool-output-error', ...common, errorText: textOf(result) }
      else if (state === 'done') yield { type: 'tool-output-available', ...common, output: result }
      else if (state === 'working') {
        yield { type: 'tool-output-available', ...common, output: result, preliminary: true }
      }
      return
    }
    case 'file':
      if (change.type === 'start') {
        yield { type: 'file', url: part.url, mediaType: part.mediaType || 'application/octet-stream' }
      }
      return
    case 'data': {
      const { source: artifactId, name, data } = part
      return yield { type: 'data-artifact', id, data: defined({ artifactId, name, data }) }
    }
    case 'question':
      if (change.type === 'start') {
        yield* questionChunks(part.question).filter(({ type }) => part.isOpen || type === 'tool-input-available')
      } else if (!part.isOpen) {
        yield { type: 'tool-output-available', toolCallId: id, dynamic: true, output: 'answered' }
      }
      return
  }
}

function questionChunks(question: AgentQuestion): UIMessageChunk[] {
  const { id, kind, text, schema, input, isSensitive, schemes, urls } = question
  const asked = defined({ question: text, schema, isSensitive, schemes, urls })
  const toolName = question.tool ?? toolNames[kind]
  const isCall = kind === 'tool' && input !== undefined
  const call = { toolCallId: id, toolName, input: isCall ? input : asked, title: text, dynamic: true }
  const request: UIMessageChunk = { type: 'tool-approval-request', approvalId: id, toolCallId: id, reason: text }
  return [{ type: 'tool-input-available', ...call }, ...(kind === 'approval' ? [request] : [])]
}

/** An answer of the page, or why a tool failed that it should run. */
type Answer = { readonly value: Json } | { readonly failure: string }

/** The answer that the page has put into a tool part. */
function answerIn(message: UIMessage, question: AgentQuestion): Answer | undefined {
  for (const part of message.parts) {
    if (!('toolCallId' in part) || part.toolCallId !== question.id) continue
    if (part.state === 'output-available') return { value: toJson(part.output, 'output') ?? null }
    if (part.state === 'output-error') return { failure: part.errorText }
    if (part.state === 'approval-responded') {
      const { approved, reason } = part.approval
      return { value: defined({ approved, reason }) }
    }
  }
  return undefined
}

/** The chunks by which the part of an answered question is complete. The chat keeps its messages, so no secret stays. */
function outcomeOf(question: AgentQuestion, answer: Answer): readonly UIMessageChunk[] {
  const { id: toolCallId, kind, isSensitive } = question
  if ('failure' in answer) return [{ type: 'tool-output-error', toolCallId, errorText: answer.failure, dynamic: true }]
  if (kind === 'approval' && isObject(answer.value) && answer.value.approved !== true) {
    return [{ type: 'tool-output-denied', toolCallId }]
  }
  return [{ type: 'tool-output-available', toolCallId, output: isSensitive ? redacted : answer.value, dynamic: true }]
}

function partsOf(message: UIMessage): readonly Part[] {
  const parts = message.parts.flatMap((part): readonly Part[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }]
    if (part.type === 'file') return [filePart(part)]
    if (part.type.startsWith('data-') && 'data' in part) {
      return [{ data: (toJson(part.data, part.type) ?? null) as Json, mediaType: 'application/json' }]
    }
    return []
  })
  if (parts.length === 0) throw new Error('There is nothing to send: the message has no text, file or data.')
  return parts
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
