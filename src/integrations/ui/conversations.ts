import { defined, isObject, type JsonObject } from '../../core/base/json.ts'
import type { Client } from '../../core/client/client.ts'
import { connect } from '../../core/client/connect.ts'
import { type ClientEvent, toClientEvents } from '../../core/client/reply.ts'
import { callOf } from '../../core/client/send-request.ts'
import { A2AError, type ErrorCode } from '../../core/protocol/errors.ts'
import type { Part, TaskStatus } from '../../core/protocol/model.ts'
import { isEnded, isInterrupted } from '../../core/protocol/states.ts'
import { type AgentQuestion, readQuestion } from './questions.ts'
import { applyEvent, emptyView, type TaskView, type ViewPart } from './task-view.ts'

/** Milliseconds in which a task that is stopped before its first event must appear, to be canceled. */
const stopTimeout = 30_000

/** Number of conversations whose positions are kept, and of parts that a position knows. */
const maxPositions = 50
const maxSeen = 500

/** An agent: its client, with credentials if it needs some, or where to find it. A function is called on first use. */
export type AgentSource = Client | Promise<Client> | string | URL | (() => Client | Promise<Client>)

/** Where positions are kept over reloads, such as `localStorage`. */
export interface KeyValueStorage {
  getItem(key: string): string | null
  setItem(key: string, value: string): void
}

/**
 * Where a conversation stands: ids and lengths, and the open question. Neither messages nor answers are kept.
 */
export interface Position {
  readonly contextId?: string
  readonly taskId?: string
  /** The id of the message in which the front end shows the task. */
  readonly messageId?: string
  /** The event after which that message begins. Set if the agent resumes streams exactly. */
  readonly after?: number
  /** How much of each part earlier messages show. */
  readonly before?: Readonly<Record<string, number>>
  /** The same, with what this message shows. */
  readonly seen?: Readonly<Record<string, number>>
  readonly generation?: number
  readonly question?: AgentQuestion
  /** Whether there is nothing left to resume. */
  readonly isOver?: boolean
}

export interface Outgoing {
  readonly parts: readonly Part[]
  /** Starts a task of its own, whatever the last one waits for. */
  readonly isNew?: boolean
  /** The front end continues the message that it showed last. */
  readonly continuesMessage?: boolean
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly metadata?: JsonObject | undefined
}

/** A task that a front end shows. */
export interface Run {
  /** The view after each event. Ends when the task has ended or waits for the caller. */
  readonly views: AsyncGenerator<TaskView>
  /** The id of the message that shows the task. Known with the first view. */
  messageId(): string | undefined
  /** Cancels the task, also one that the agent has not announced yet. */
  cancel(): Promise<void>
  /** Stops reading. The task continues. */
  leave(): void
}

export interface Conversations {
  position(id: string): Position | undefined
  send(id: string, message: Outgoing): Run
  /** Follows the task of a conversation from the start of its message. Undefined if there is none to follow. */
  follow(id: string): Run | undefined
  forget(id: string): void
}

export function createConversations(
  agent: AgentSource,
  storage: KeyValueStorage | undefined,
  name: string,
): Conversations {
  const clientOf = createClientSource(agent)
  const positions = createPositions(storage ?? createMemoryStorage(), name)

  /** `hidden` is shown already, in earlier messages. */
  function run(id: string, start: Position, hidden: Position['seen'], open: Open): Run {
    const controller = new AbortController()
    const { signal } = controller
    let position = start
    let announce = () => {}
    const announced = new Promise<void>((resolve) => {
      announce = resolve
    })

    const update = (view: TaskView) => {
      const { taskId, contextId, state, question, generation, isExact } = view
      const isSettled = state !== undefined && (isEnded(state) || isInterrupted(state))
      const isFirst = position.taskId !== taskId || position.messageId === undefined
      if (!isFirst && !isSettled && position.question?.id === question?.id) return
      const { question: _, ...rest } = position
      const messageId = position.messageId ?? taskId
      const after = position.after ?? (isExact && start.before === undefined ? 1 : undefined)
      const members = { contextId, taskId, messageId, after, question, isOver: isSettled && !question }
      position = defined({ ...rest, ...members, generation, seen: lengthsOf(view, hidden) })
      positions.write(id, position)
      announce()
    }

    async function* views(): AsyncGenerator<TaskView> {
      const client = await clientOf()
      let view = emptyView
      try {
        for await (const event of open(client, signal)) {
          view = applyEvent(view, event)
          update(view)
          yield view.isWhole && hidden ? { ...view, parts: view.parts.flatMap((part) => unseen(part, hidden)) } : view
        }
      } catch (error) {
        // The next message starts a task of its own.
        if (isGone(error) && position.contextId !== undefined) positions.write(id, { contextId: position.contextId })
        throw error
      }
    }

    const iterator = views()
    return {
      views: iterator,
      messageId: () => position.messageId,
      async cancel() {
        if (position.taskId === undefined) {
          const timer = setTimeout(() => controller.abort(), stopTimeout)
          // The front end may have stopped reading.
          iterator.next().then(announce, announce)
          await announced
          clearTimeout(timer)
        }
        const { taskId, isOver } = position
        if (taskId === undefined || isOver) return
        const client = await clientOf()
        await client.task(taskId).cancel()
        const { question: _, ...rest } = position
        positions.write(id, { ...rest, isOver: true })
      },
      leave: () => controller.abort(),
    }
  }

  return {
    position: (id) => positions.read(id),
    forget: (id) => positions.write(id, undefined),
    send(id, { parts, isNew, continuesMessage, headers, metadata }) {
      const earlier = positions.read(id) ?? {}
      const { contextId, seen, generation, messageId } = earlier
      const taskId = earlier.question && !isNew ? earlier.taskId : undefined
      const answered = taskId === undefined ? undefined : earlier.question?.id
      const open: Open = (client, signal) =>
        untilQuestion(client.stream(parts, defined({ contextId, taskId, headers, metadata, signal })), answered)
      if (taskId === undefined) return run(id, defined({ contextId }), undefined, open)
      if (continuesMessage && messageId !== undefined) return run(id, earlier, seen, open)
      const after = earlier.after === undefined ? undefined : generation
      const members = { contextId, taskId, messageId: `${taskId}-${generation ?? newNumber()}`, after, before: seen }
      return run(id, defined(members), seen, open)
    },
    follow(id) {
      const position = positions.read(id)
      const { taskId, isOver, after, before } = position ?? {}
      if (!position || taskId === undefined || isOver) return undefined
      const open: Open = async function* (client, signal) {
        try {
          const isExact = after !== undefined
          yield* isExact ? replay(client, taskId, after, signal) : untilQuestion(client.task(taskId).subscribe({ signal }))
        } catch (error) {
          if (!isGone(error)) throw error
          // What the page has shown is all that is left.
          positions.write(id, { ...position, isOver: true })
        }
      }
      return run(id, position, before, open)
    },
  }
}

type Open = (client: Client, signal: AbortSignal) => AsyncGenerator<ClientEvent>

/** Ends with a question: some agents keep the stream open. The question that the stream answers is left out. */
async function* untilQuestion(events: AsyncGenerator<ClientEvent>, answered?: string): AsyncGenerator<ClientEvent> {
  for await (const event of events) {
    const status = event.type === 'task' ? event.task.status : event.type === 'status' ? event.status : undefined
    const taskId = event.type === 'task' ? event.task.id : ''
    const question = status?.state === 'input-required' ? readQuestion(status, taskId, undefined) : undefined
    // The task as it was before the answer.
    if (question && question.id === answered) continue
    yield event
    if (question) return
  }
}

/** Emits every event after a number, up to the end of the task or its open question. A stream ends at each question. */
async function* replay(
  client: Client,
  taskId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<ClientEvent> {
  for (let from = after; ; ) {
    let last: TaskStatus | undefined
    const events = client.service.subscribeToTask({ taskId, after: from, includeEnded: true }, callOf({ signal }))
    for await (const event of toClientEvents(events)) {
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

/** Whether the task cannot be continued: it was answered in another tab, has ended, or is forgotten. */
function isGone(error: unknown): boolean {
  return error instanceof A2AError && goneCodes.has(error.code)
}

const goneCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'task-ended',
  'task-expired',
  'task-not-found',
  'unsupported-operation',
])

/** What a part adds to what is shown already. */
function unseen(part: ViewPart, seen: Readonly<Record<string, number>>): readonly ViewPart[] {
  const length = seen[part.id]
  if (length === undefined) return [part]
  if (part.type !== 'text' || part.text.length <= length) return []
  return [{ ...part, text: part.text.slice(length) }]
}

function lengthsOf(view: TaskView, hidden: Position['seen'] = {}): Record<string, number> {
  const lengths: Record<string, number> = { ...hidden }
  for (const part of view.parts.slice(-maxSeen)) {
    const earlier = view.isWhole ? 0 : (hidden[part.id] ?? 0)
    lengths[part.id] = earlier + ('text' in part ? part.text.length : 0)
  }
  return lengths
}

/** Connects on first use, and again after a failure. */
function createClientSource(agent: AgentSource): () => Promise<Client> {
  let client: Promise<Client> | undefined
  const open = async () => {
    if (typeof agent === 'function') return await agent()
    return typeof agent === 'string' || agent instanceof URL ? await connect(agent) : await agent
  }
  return () => {
    client ??= open().catch((error: unknown) => {
      client = undefined
      throw error
    })
    return client
  }
}

/** The positions of the latest conversations, under one key. Another tab may write it as well. */
function createPositions(storage: KeyValueStorage, name: string) {
  const read = (): Readonly<Record<string, Position>> => {
    try {
      const positions: unknown = JSON.parse(storage.getItem(name) ?? '{}')
      return isObject(positions) ? (positions as unknown as Record<string, Position>) : {}
    } catch {
      return {}
    }
  }
  return {
    read: (id: string): Position | undefined => {
      const position = Object.hasOwn(read(), id) ? read()[id] : undefined
      return isObject(position) ? position : undefined
    },
    write(id: string, position: Position | undefined) {
      const { [id]: _, ...others } = read()
      const entries = [...Object.entries(others), ...(position ? [[id, position] as const] : [])]
      try {
        storage.setItem(name, JSON.stringify(Object.fromEntries(entries.slice(-maxPositions))))
      } catch {
        // A full or forbidden storage: the conversation continues, and cannot be resumed after a reload.
      }
    },
  }
}

/** `localStorage` in pages. Servers render without one. */
export function pageStorage(): KeyValueStorage | undefined {
  try {
    return typeof document === 'undefined' ? undefined : globalThis.localStorage
  } catch {
    return undefined
  }
}

function createMemoryStorage(): KeyValueStorage {
  const values = new Map<string, string>()
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => values.set(key, value),
  }
}

/** An error as a person reads it. Its hint is for developers. */
export function errorText(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : 'The agent could not be reached.'
}

function newNumber(): string {
  return crypto.getRandomValues(new Uint32Array(1)).join('')
}
