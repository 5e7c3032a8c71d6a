import { defined, isObject, type JsonObject } from '../../core/base/json.ts'
import type { Client } from '../../core/client/client.ts'
import { connect } from '../../core/client/connect.ts'
import { type ClientEvent, toClientEvents } from '../../core/client/events.ts'
import { callOf, newId } from '../../core/client/send-request.ts'
import type { Part } from '../../core/protocol/model.ts'
import { isEnded, isInterrupted } from '../../core/protocol/states.ts'
import type { AgentQuestion } from './questions.ts'
import { applyEvent, emptyView, type TaskView, type ViewPart } from './task-view.ts'

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
  messageId(): string
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
  /** Cancels the task that waits for an answer. */
  abandon(id: string): Promise<void>
  forget(id: string): void
}

/** `replayMessage` emits all events that a message shows. */
export function createConversations(
  agent: AgentSource,
  storage: KeyValueStorage | undefined,
  name: string,
  replayMessage = replay,
): Conversations {
  const clientOf = createClientSource(agent)
  const cancel = async (taskId: string) => {
    await (await clientOf()).task(taskId).cancel()
  }
  const positions = createPositions(name, storage)

  /** `hidden` is shown already, in earlier messages. `answered` is the question that the run answers. */
  function run(id: string, start: Position, hidden: Position['seen'], open: Open, answered?: string): Run {
    const controller = new AbortController()
    const { promise: announced, resolve: announce } = Promise.withResolvers<unknown>()
    const isFollowing = start.seen !== undefined
    /** Of an answer without a task. */
    const fallbackId = newId()
    let position = start
    let isWritten = false

    const update = (view: TaskView) => {
      const { taskId, contextId, state = 'working', question, generation } = view
      const isSettled = isEnded(state) || isInterrupted(state)
      if (isWritten && !isSettled && position.question?.id === question?.id) return
      isWritten = true
      const { messageId = taskId, before } = position
      const after = position.after ?? (view.isExact && !before ? 1 : undefined)
      const seen = lengthsOf(view, hidden)
      const isOver = isSettled && !question
      position = defined({ contextId, taskId, messageId, after, before, seen, generation, question, isOver })
      positions.write(id, position)
      announce(undefined)
    }

    async function* views(): AsyncGenerator<TaskView> {
      const client = await clientOf()
      let view = emptyView
      try {
        for await (const event of open(client, controller.signal)) {
          view = applyEvent(view, event)
          // The task as it was before the answer.
          if (view.question && view.question.id === answered) continue
          update(view)
          yield view.isWhole && hidden ? { ...view, parts: view.parts.flatMap((part) => unseen(part, hidden)) } : view
          // Some agents keep the stream open. A replay goes on.
          if (view.state === 'input-required' && !(isFollowing && start.after)) return
        }
      } catch (error) {
        // The next message starts a task of its own.
        if (isGone(error)) positions.write(id, defined({ contextId: position.contextId }))
        // What the page has shown is all that is left of a task that it follows.
        if (!isGone(error) || !isFollowing) throw error
      }
    }

    const iterator = views()
    return {
      views: iterator,
      messageId: () => position.messageId ?? fallbackId,
      async cancel() {
        // The front end may have stopped reading.
        if (position.taskId === undefined) iterator.next().then(announce, announce)
        else announce(undefined)
        await announced
        const { taskId, isOver } = position
        if (taskId !== undefined && !isOver) await cancel(taskId)
      },
      leave: () => controller.abort(),
    }
  }

  return {
    position: (id) => positions.read(id),
    async abandon(id) {
      const { question, ...position } = positions.read(id) ?? {}
      if (question) await cancel(question.taskId)
      positions.write(id, { ...position, isOver: true })
    },
    forget: (id) => positions.write(id, undefined),
    send(id, { parts, isNew, continuesMessage, headers, metadata }) {
      const earlier = positions.read(id) ?? {}
      const { contextId, seen, generation, messageId } = earlier
      const taskId = earlier.question && !isNew ? earlier.taskId : undefined
      const start: Position =
        taskId === undefined ? defined({ contextId }) : defined({ contextId, taskId, before: seen })
      const open: Open = (client, signal) =>
        client.stream(parts, defined({ contextId, taskId, headers, metadata, signal }))
      if (taskId === undefined) return run(id, start, undefined, open)
      const next = { messageId: `${taskId}-${generation || newId()}`, after: earlier.after && generation }
      const { before, after } = earlier
      const same = { messageId, after, before }
      return run(id, defined({ ...start, ...(continuesMessage ? same : next) }), seen, open, earlier.question?.id)
    },
    follow(id) {
      const position = positions.read(id)
      const { taskId, isOver, after, before } = position ?? {}
      if (!position || taskId === undefined || isOver) return undefined
      const open: Open = (client, signal) =>
        after === undefined ? client.task(taskId).subscribe({ signal }) : replayMessage(client, taskId, after, signal)
      return run(id, position, before, open)
    },
  }
}

type Open = (client: Client, signal: AbortSignal) => AsyncGenerator<ClientEvent>

/** Emits every event after a number, up to the end of the task or its next question. */
export const replay: Replay = (client, taskId, after, signal) =>
  toClientEvents(client.service.subscribeToTask({ taskId, after, includeEnded: true }, callOf({ signal })))

export type Replay = (client: Client, taskId: string, after: number, signal: AbortSignal) => AsyncGenerator<ClientEvent>

/** Whether the task cannot be continued: it was answered in another tab, has ended (`task-ended`), or is not found. */
function isGone(error: unknown): boolean {
  return /^(task-[en]|unsupported-op)/.test(`${isObject(error) && error.code}`)
}

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
function createPositions(name: string, storage: KeyValueStorage | undefined) {
  let text = '[]'
  const readAll = (): Map<string, Position> => {
    try {
      return new Map(JSON.parse(storage?.getItem(name) ?? text))
    } catch {
      return new Map()
    }
  }
  return {
    read: (id: string) => readAll().get(id),
    write(id: string, position: Position | undefined) {
      const positions = readAll()
      positions.delete(id)
      if (position) positions.set(id, position)
      text = JSON.stringify([...positions].slice(-maxPositions))
      try {
        storage?.setItem(name, text)
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

/** An error as a person reads it. Its hint is for developers. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : `${error}`
}
