import { nextTurn } from '../base/clock.ts'
import { defined, type Json } from '../base/json.ts'
import type { Trace } from '../base/trace-context.ts'
import type { AgentExtension, AgentSkill } from '../protocol/card.ts'
import type { ArtifactEvent, MessageEvent, StatusEvent } from '../protocol/events.ts'
import type { InBand } from '../protocol/extensions/in-task-credentials.ts'
import type { Usage } from '../protocol/extensions/usage.ts'
import type { Message, Part } from '../protocol/model.ts'
import type { AnswerDeadline, AskCaller } from './ask.ts'
import { type Content, readEvent } from './content.ts'
import { createBacklog, iterate, type Subscribable } from './observable.ts'
import type { ArtifactWriter, Turn } from './turn.ts'

/**
 * How an agent answers a message. A function that returns content answers with a message, unless it has emitted an
 * event. A stream (a generator, an observable) always creates a task: its content is streamed as an artifact, and the
 * value that a generator returns ends the task.
 */
export type AgentFunction = (turn: Turn) => AgentReturn

export type AgentReturn = AgentResult | Promise<AgentResult> | AgentStream | Subscribable<AgentYield>

/** The result of a turn: content to answer with, or nothing if the task holds the answer. */
// biome-ignore lint/suspicious/noConfusingVoidType: an author's function may simply end
export type AgentResult = Content | undefined | void

/** An item of an agent's stream: content, which becomes part of an artifact, or an event, which is emitted as it is. */
export type AgentYield = AgentResult | StatusEvent | ArtifactEvent

/** An async generator, or another iterable. `AsyncIterable` has no type of its result before TypeScript 5.6. */
export interface AgentStream {
  [Symbol.asyncIterator](): AsyncIterator<AgentYield, AgentResult>
}

/** Everything that can implement an agent. */
export type AgentImplementation = RuntimeFunction | AdaptedFunction | Invocable | Subscribable<AgentYield> | AgentStream

/** An `AgentFunction` that can also work with events instead of content. */
export type RuntimeFunction = (turn: Turn, runtime: RuntimeAccess) => AgentReturn

/** A function that brings a part of its agent's profile: what the profile does not set itself. */
export interface AdaptedFunction {
  (turn: Turn, runtime: RuntimeAccess): AgentReturn
  readonly defaults: ProfileDefaults
}

/** The part of a profile that an implementation can bring. */
export interface ProfileDefaults {
  readonly skills?: readonly (Pick<AgentSkill, 'id' | 'name'> & Partial<AgentSkill>)[]
  readonly inputModes?: readonly string[]
  readonly recovery?: 'resume'
  /** Declared besides those of the profile. */
  readonly extensions?: readonly AgentExtension[]
}

/** The part of the runtime that works with events. */
export interface RuntimeAccess {
  /** Resolves when the event is in the window of the task's writer. */
  readonly emit: (event: StatusEvent | ArtifactEvent) => Promise<void>
  readonly ask: AskCaller
  readonly newArtifactId: () => string
  /** Reads the messages of the other tasks in the context, oldest first. */
  readonly contextHistory: () => Promise<readonly Message[]>
  /** Only with the recovery policy `resume`. */
  readonly journal?: JournalStep | undefined
  /** Whether a resumed turn still repeats what its journal holds. */
  readonly isReplaying: () => boolean
  /** Counts what a model used. With the mark of a journal step, it is stored with the step. */
  readonly addUsage: (usage: Usage, mark?: string) => Promise<void>
  /** Turns the exchange into a task. */
  readonly markAsTask: () => void
  /** The credentials that the message brought, in its order. Empty if another process received them: they are never stored. */
  readonly credentials: () => readonly InBand[]
}

/**
 * Runs a piece of work once and stores its result, which a resumed turn gets instead of running the work again. Events
 * that the work emits must carry the mark as their `step`.
 */
export type JournalStep = <T extends Json>(name: string, work: (mark: string) => Promise<T>) => Promise<T>

/** An object that answers messages with a stream of events, such as an `AgentLoop`. */
export interface Invocable {
  /** Extensions to declare in the card of the agent. */
  readonly extensions?: readonly AgentExtension[]
  invoke(parts: readonly Part[], invocation: Invocation): Subscribable<AgentYield> | AgentStream
}

/** What an `Invocable` gets with a message. */
export interface Invocation {
  readonly taskId: string
  readonly contextId: string
  /** The earlier messages of the task, oldest first. */
  readonly history?: readonly Message[]
  /** Reads the messages of the other tasks in the context, oldest first. */
  readonly earlier?: () => Promise<readonly Message[]>
  readonly signal?: AbortSignal
  /** The turn, if an agent invokes it. */
  readonly turn?: Turn
  /** Resolves with the answer to a question. Call it before you emit the status whose message has that id. */
  readonly answerTo?: (messageId: string, deadline?: AnswerDeadline) => Promise<MessageEvent>
  readonly newArtifactId?: () => string
  readonly journal?: JournalStep
  /** Whether a resumed turn still repeats what its journal holds. */
  readonly isReplaying?: () => boolean
  /** Counts what a model used. With the mark of a journal step, it is stored with the step. */
  readonly addUsage?: (usage: Usage, mark?: string) => Promise<void>
  /** The trace of the caller, if there is no turn. */
  readonly trace?: Trace | undefined
  /** Resolves when all events emitted so far have been handed to the task's writer. */
  readonly settled?: () => Promise<void>
}

/** The extensions that an implementation adds to the card of its agent. */
export function extensionsOf(implementation: AgentImplementation | undefined): readonly AgentExtension[] {
  return (isInvocable(implementation) ? implementation.extensions : defaultsOf(implementation).extensions) ?? []
}

/** What an implementation brings to the profile of its agent. */
export function defaultsOf(implementation: AgentImplementation | undefined): ProfileDefaults {
  return typeof implementation === 'function' && 'defaults' in implementation ? implementation.defaults : {}
}

export function toFunction(implementation: AgentImplementation | undefined, name: string): RuntimeFunction {
  if (typeof implementation === 'function') return implementation
  if (isInvocable(implementation)) return (turn, runtime) => invoke(implementation, turn, runtime)
  if (isSubscribable<AgentYield>(implementation)) return () => implementation
  if (isAsyncIterable<AgentYield, AgentResult>(implementation)) return () => implementation
  throw new TypeError(
    `agent(${name}): expected a function, a loop, an observable or an async iterable, got ${implementation === null ? 'null' : typeof implementation}`,
  )
}

/** Runs an agent's function of any form and resolves with its result. */
export async function runAgentFunction(
  run: RuntimeFunction,
  turn: Turn,
  runtime: RuntimeAccess,
): Promise<Content | undefined> {
  const returned = run(turn, runtime)
  if (isSubscribable<AgentYield>(returned)) return await emitAll(iterate(returned, turn.signal), turn, runtime)
  if (isAsyncIterable<AgentYield, AgentResult>(returned)) return await emitAll(returned, turn, runtime)
  return (await returned) ?? undefined
}

export function isSubscribable<T>(value: unknown): value is Subscribable<T> {
  return typeof value === 'object' && value !== null && 'subscribe' in value && typeof value.subscribe === 'function'
}

export function isAsyncIterable<T, R>(value: unknown): value is AsyncIterable<T, R> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/** Whether an item of a stream is an event. Data may also have a member `type`. */
export function isEvent(item: unknown): item is StatusEvent | ArtifactEvent {
  if (typeof item !== 'object' || item === null || !('type' in item)) return false
  return (
    (item.type === 'status' && hasObject(item, 'status')) || (item.type === 'artifact' && hasObject(item, 'artifact'))
  )
}

function isInvocable(value: unknown): value is Invocable {
  return typeof value === 'object' && value !== null && 'invoke' in value && typeof value.invoke === 'function'
}

/** Yields the stream of an `Invocable`. A question is asked at its place in the stream: later events wait for the answer. */
async function* invoke(
  invocable: Invocable,
  turn: Turn,
  runtime: RuntimeAccess,
): AsyncGenerator<AgentYield, undefined> {
  const { message, taskId, contextId, history, signal } = turn
  const { ask, newArtifactId, contextHistory, journal, isReplaying, addUsage } = runtime
  const pending = new Map<string, PendingQuestion>()
  const backlog = createBacklog()
  const stream = invocable.invoke(message.parts, {
    taskId,
    contextId,
    history,
    earlier: contextHistory,
    signal,
    turn,
    answerTo: (messageId, deadline) =>
      new Promise((resolve, reject) => pending.set(messageId, { deadline, resolve, reject })),
    newArtifactId,
    settled: backlog.settled,
    addUsage,
    ...defined({ journal, isReplaying: journal && isReplaying }),
  })
  for await (const item of isSubscribable<AgentYield>(stream) ? iterate(stream, signal, backlog) : stream) {
    const status = item !== undefined && isEvent(item) && item.type === 'status' ? item : undefined
    const id = status?.status.message?.messageId ?? ''
    const question = pending.get(id)
    if (!status || !question) {
      yield item
      continue
    }
    pending.delete(id)
    await ask(status, question.deadline).then(question.resolve, question.reject)
  }
}

interface PendingQuestion {
  readonly deadline: AnswerDeadline | undefined
  readonly resolve: (answer: MessageEvent) => void
  readonly reject: (reason: unknown) => void
}

async function emitAll(
  stream: AgentStream,
  turn: Turn,
  { emit, markAsTask }: RuntimeAccess,
): Promise<Content | undefined> {
  let artifact: ArtifactWriter | undefined
  let isSuspended = false
  const iterator = stream[Symbol.asyncIterator]()
  const first = iterator.next()
  // A stream that fails at once can reject the message: the caller gets the error instead of a failed task.
  await Promise.race([first, nextTurn()])
  markAsTask()
  try {
    for (let pending = first; ; pending = iterator.next()) {
      isSuspended = false
      const next = await pending
      if (next.done) return next.value ?? undefined
      isSuspended = true
      const item = next.value
      if (item === undefined || item === null) continue
      if (isEvent(item)) {
        await emit(readEvent(item))
        continue
      }
      artifact ??= turn.artifact('response')
      await artifact.write(item)
    }
  } finally {
    // What the agent yielded cannot be emitted: its stream must not stay suspended.
    if (isSuspended) void Promise.resolve(iterator.return?.()).catch(() => {})
  }
}

function hasObject(item: object, name: string): boolean {
  const value: unknown = item[name as keyof typeof item]
  return typeof value === 'object' && value !== null
}
