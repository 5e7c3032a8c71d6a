import { defined, type Json } from '../../core/base/json.ts'
import { type Input, newId, toParts } from '../../core/client/send-request.ts'
import type { Part, TaskState } from '../../core/protocol/model.ts'
import {
  type AgentSource,
  createConversations,
  errorText,
  type KeyValueStorage,
  pageStorage,
  type Run,
} from './conversations.ts'
import { type AgentQuestion, encodeAnswer } from './questions.ts'
import { isOfArtifact, type ViewPart, viewOf } from './task-view.ts'

/** How many messages are kept over reloads, and how long the content of a file among them may be, in characters. */
const maxKept = 200
const maxKeptFile = 100_000

const positionsKey = 'parley-a2a/agents'

/** Options of `useAgent`. */
export interface AgentChatOptions {
  /** A client, with credentials if the agent needs some; its address; or a function that returns a client. */
  readonly agent: AgentSource
  /** Names the conversation. One with a name is kept over reloads, and shared by the tabs of a browser. */
  readonly id?: string
  /** Where a conversation with a name is kept. Defaults to `localStorage` in pages. */
  readonly storage?: KeyValueStorage
}

/** A message of the person or of the agent. */
export interface AgentMessage {
  readonly id: string
  readonly role: 'user' | 'agent'
  readonly parts: readonly ViewPart[]
  /** The task that the message of an agent shows, and its state. */
  readonly taskId?: string
  readonly state?: TaskState
  /** Why the task failed, for people. */
  readonly problem?: string
}

/** An artifact, with its parts sorted by kind. */
export interface AgentArtifact {
  readonly id: string
  readonly taskId?: string
  readonly name?: string
  readonly text: string
  readonly data: readonly Json[]
  readonly files: readonly Extract<ViewPart, { readonly type: 'file' }>[]
}

/** A conversation as it is shown. */
export interface AgentChatState {
  readonly messages: readonly AgentMessage[]
  /** `working` while the agent answers, `waiting` while it needs an answer. */
  readonly status: 'ready' | 'working' | 'waiting'
  /** The tasks of the conversation, the newest last. */
  readonly tasks: readonly { readonly id: string; readonly state: TaskState }[]
  readonly artifacts: readonly AgentArtifact[]
  /** What the agent waits for. */
  readonly question?: AgentQuestion
  /** What the agent is doing, in its words. */
  readonly progress?: string
  /** Why the last message was not sent or not answered, for people. */
  readonly error?: string
}

/** What a person can do in a conversation. */
export interface AgentChatActions {
  /** Sends text, files and data. While the agent waits for an answer, it is the answer. */
  send(input: Input): Promise<void>
  /**
   * Answers the open question: by a value of its schema, `true` or `{ approved, reason }` for an approval, a text, or the
   * result of a tool. Answers to sensitive questions are kept nowhere.
   */
  answer(value: Json): Promise<void>
  /** Cancels the task. */
  cancel(): Promise<void>
  /** Starts a new conversation. The tasks of the old one continue. */
  clear(): void
}

/** A conversation with an agent, as a store that views subscribe to. */
export interface AgentChat {
  readonly actions: AgentChatActions
  getState(): AgentChatState
  subscribe(listener: () => void): () => void
  /** Loads the conversation and resumes its task. Returns what stops reading; the task continues. */
  start(): () => void
}

/** The state before anything is loaded: what a server renders. */
export const initialState: AgentChatState = { messages: [], status: 'ready', tasks: [], artifacts: [] }

export function createAgentChat(options: AgentChatOptions): AgentChat {
  requireOptions(options)
  const { agent, id, storage = pageStorage() } = options
  const key = `parley-a2a/agent/${id}`
  const kept = id === undefined ? undefined : storage
  const name = id ?? ''
  const conversations = createConversations(agent, kept, positionsKey)
  const listeners = new Set<() => void>()
  let state = initialState
  let active: Run | undefined

  function set(change: Partial<AgentChatState>): void {
    const messages = change.messages ?? state.messages
    const derived = messages === state.messages ? {} : { tasks: tasksOf(messages), artifacts: artifactsOf(messages) }
    state = defined({ ...state, ...change, ...derived }) as AgentChatState
    for (const listener of listeners) listener()
  }

  function save(): void {
    try {
      // Large files are not kept.
      const withoutFiles = (name: string, value: unknown) =>
        name === 'url' && `${value}`.length > maxKeptFile ? '' : value
      kept?.setItem(key, JSON.stringify(state.messages.slice(-maxKept), withoutFiles))
    } catch {
      // A full or forbidden storage: the conversation continues, and is lost with the page.
    }
  }

  function load(): void {
    try {
      const messages: unknown = JSON.parse(kept?.getItem(key) ?? '[]')
      if (Array.isArray(messages)) set({ messages })
    } catch {
      // What another version or another program has written.
    }
  }

  /** Shows a task until it has ended, or waits. */
  async function show(run: Run | undefined): Promise<void> {
    if (!run) return
    active = run
    set({ status: 'working', error: undefined })
    try {
      for await (const view of run.views) {
        if (active !== run) return
        const { parts, taskId, state: taskState, problem, question, progress } = view
        const id = run.messageId()
        const message: AgentMessage = defined({ id, role: 'agent', parts, taskId, state: taskState, problem })
        const index = state.messages.findLastIndex((other) => other.id === id)
        const messages = index < 0 ? [...state.messages, message] : state.messages.with(index, message)
        set({ messages, question, progress })
      }
    } catch (error) {
      if (active === run) report(error)
    } finally {
      if (active === run) {
        active = undefined
        const question = state.question && conversations.position(name)?.question
        set({ status: question ? 'waiting' : 'ready', question, progress: undefined })
        save()
      }
    }
  }

  function leave(): void {
    active?.leave()
    active = undefined
  }

  /** Cancels the task that waits for an answer. */
  async function abandon(): Promise<void> {
    await conversations.abandon(name)
    const { taskId } = state.question ?? {}
    const messages = state.messages.map(
      (message): AgentMessage => (message.taskId === taskId ? { ...message, state: 'canceled' } : message),
    )
    set({ messages, question: undefined, status: 'ready' })
    save()
  }

  async function post(parts: readonly Part[], shown: readonly Part[]): Promise<void> {
    leave()
    const messageId = newId()
    const message: AgentMessage = {
      id: messageId,
      role: 'user',
      parts: viewOf({ messageId, role: 'user', parts: shown }),
    }
    set({ messages: [...state.messages, message] })
    save()
    await show(conversations.send(name, { parts }))
  }

  function report(error: unknown): void {
    set({ error: errorText(error) })
  }

  const actions: AgentChatActions = {
    send: (input) =>
      toParts(input)
        .then((parts) => post(parts, parts))
        .catch(report),
    async answer(value) {
      const { question } = state
      if (!question) return report('There is no question.')
      await post(encodeAnswer(question, value), [{ text: question.isSensitive ? '••••••' : shownValue(value) }])
    },
    cancel: () => (active ? active.cancel() : abandon()).catch(report),
    clear() {
      leave()
      state = initialState
      set({})
      save()
      conversations.forget(name)
    },
  }

  const resume = () => {
    if (active) return
    load()
    void show(conversations.follow(name))
  }

  return {
    actions,
    getState: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    start() {
      const controller = new AbortController()
      // Another tab has sent a message, or has got an answer.
      const onStorage = (event: StorageEvent) => {
        if (event.key === positionsKey) resume()
      }
      globalThis.addEventListener?.('storage', onStorage, controller)
      resume()
      return () => {
        controller.abort()
        leave()
      }
    },
  }
}

/** Without `checkOptions`, which would be a tenth of what the hook adds to a page. */
function requireOptions({ agent, id, storage: _, ...others }: AgentChatOptions): void {
  for (const name in others) throw new TypeError(`useAgent: ${name} is not an option.`)
  if (agent && typeof (id ?? '') === 'string') return
  throw new TypeError('useAgent: expected an agent: a client, an address or a function; and a text as id.')
}

function tasksOf(messages: readonly AgentMessage[]): AgentChatState['tasks'] {
  const tasks = messages.flatMap(({ taskId: id, state }) => (id && state ? [[id, { id, state }] as const] : []))
  return [...new Map(tasks).values()]
}

function artifactsOf(messages: readonly AgentMessage[]): readonly AgentArtifact[] {
  const artifacts = new Map<string, AgentArtifact>()
  for (const { taskId, role, parts } of messages) {
    for (const part of role === 'agent' ? parts.filter(isOfArtifact) : []) {
      const { source: id, name } = part
      const key = `${taskId} ${id}`
      const { text = '', data = [], files = [] } = artifacts.get(key) ?? {}
      const members = { id, taskId, name, text, data, files }
      if (part.type === 'text') members.text += part.text
      else if (part.type === 'data') members.data = [...data, part.data]
      else members.files = [...files, part]
      artifacts.set(key, defined(members))
    }
  }
  return [...artifacts.values()]
}

function shownValue(value: Json): string {
  if (value === true) return 'Yes'
  if (value === false) return 'No'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
