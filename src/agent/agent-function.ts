import type { Json } from '../base/json.ts'
import type { Trace } from '../base/trace-context.ts'
import type { AgentExtension } from '../protocol/card.ts'
import type { ArtifactEvent, MessageEvent, StatusEvent } from '../protocol/events.ts'
import type { Message, Part } from '../protocol/model.ts'
import type { AnswerDeadline, AskCaller } from './ask.ts'
import { createBacklog, isSubscribable, iterate, type Subscribable } from './observable.ts'
import type { Turn } from './turn.ts'
import type { ArtifactWriter, Content } from './turn-output.ts'

/**
 * Does a piece of work once, and gives what it gave also to a turn that is resumed in another process. Events that are
 * told meanwhile bear the mark that the work is given as their `step`.
 */
export type JournalStep = <T extends Json>(name: string, work: (mark: string) => Promise<T>) => Promise<T>

/** What speaks in events, and not in content. */
export interface RuntimeAccess {
  /** Resolves when the event is stored. */
  readonly emit: (event: StatusEvent | ArtifactEvent) => Promise<void>
  readonly ask: AskCaller
  readonly newArtifactId: () => string
  /** What was said in other tasks of the context, oldest first. */
  readonly contextHistory: () => Promise<readonly Message[]>
  /** Only if turns are resumed. */
  readonly journal?: JournalStep | undefined
  /** What was done before is gone through again, and there is more of it. */
  readonly isReplaying: () => boolean
  /** From now on the caller knows it as a task. */
  readonly markAsTask: () => void
}

/** What a turn ends with: content to answer, or nothing if the task says it all. */
// biome-ignore lint/suspicious/noConfusingVoidType: an author's function may simply end
export type AgentResult = Content | undefined | void

/** What a stream of an agent consists of: content, which becomes an artifact, and events, which are told as they are. */
export type AgentYield = AgentResult | StatusEvent | ArtifactEvent

export type AgentReturn =
  | AgentResult
  | Promise<AgentResult>
  | AsyncIterable<AgentYield, AgentResult>
  | Subscribable<AgentYield>

/** A `Run` that may also speak in events. */
export type RuntimeFunction = (turn: Turn, direct: RuntimeAccess) => AgentReturn

export interface Invocation {
  readonly taskId: string
  readonly contextId: string
  /** What was said in the task before, oldest first. */
  readonly history?: readonly Message[]
  /** What was said in other tasks of the context, oldest first. */
  readonly earlier?: () => Promise<readonly Message[]>
  readonly signal?: AbortSignal
  /** The turn that it is invoked for, if it is by an agent. */
  readonly turn?: Turn
  /** Gives the message that answers a question, once a status with a message of that id was told. */
  readonly answerTo?: (messageId: string, waiting?: AnswerDeadline) => Promise<MessageEvent>
  readonly newArtifactId?: () => string
  readonly journal?: JournalStep
  /** A turn that is resumed goes through what was done before, and there is more of it. */
  readonly isReplaying?: () => boolean
  /** The trace that it is a part of, if there is no turn. */
  readonly trace?: Trace | undefined
  /** Resolves when what was told so far is stored. */
  readonly settled?: () => Promise<void>
}

/** A thing that answers messages with a stream of events, such as an `AgentLoop`. */
export interface Invocable {
  /** What the card of its agent says of it. */
  readonly extensions?: readonly AgentExtension[]
  invoke(
    parts: readonly Part[],
    invocation: Invocation,
  ): Subscribable<AgentYield> | AsyncIterable<AgentYield, AgentResult>
}

/** Everything that an agent can be made of. */
export type AgentImplementation =
  | RuntimeFunction
  | Invocable
  | Subscribable<AgentYield>
  | AsyncIterable<AgentYield, AgentResult>

/** What work has to say in the card of its agent. */
export function extensionsOf(work: AgentImplementation | undefined): readonly AgentExtension[] {
  return isInvocable(work) ? (work.extensions ?? []) : []
}

export function toFunction(work: AgentImplementation | undefined, name: string): RuntimeFunction {
  if (typeof work === 'function') return work
  if (isInvocable(work)) return (turn, direct) => invoke(work, turn, direct)
  if (isSubscribable<AgentYield>(work)) return () => work
  if (isAsyncIterable<AgentYield, AgentResult>(work)) return () => work
  throw new TypeError(
    `agent(${name}): expected a function, a loop, an observable or an async iterable, got ${work === null ? 'null' : typeof work}`,
  )
}

/** Runs an author's function, of whichever form, to its end, and gives what it returned. */
export async function runAgentFunction(
  run: RuntimeFunction,
  turn: Turn,
  direct: RuntimeAccess,
): Promise<Content | undefined> {
  const running = run(turn, direct)
  if (isSubscribable<AgentYield>(running)) return await emitAll(iterate(running, turn.signal), turn, direct)
  if (isAsyncIterable<AgentYield, AgentResult>(running)) return await emitAll(running, turn, direct)
  return (await running) ?? undefined
}

export function isAsyncIterable<T, R>(value: unknown): value is AsyncIterable<T, R> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

/**
 * How an agent answers a message. A function that returns content answers with a message, unless it touched the task.
 * A stream (a generator, an observable) always makes a task: content in it is streamed as an artifact, what a generator
 * returns ends the task.
 */
export type AgentFunction = (turn: Turn) => AgentReturn

export function isEvent(said: Content | StatusEvent | ArtifactEvent): said is StatusEvent | ArtifactEvent {
  return typeof said === 'object' && 'type' in said
}

function isInvocable(value: unknown): value is Invocable {
  return typeof value === 'object' && value !== null && 'invoke' in value && typeof value.invoke === 'function'
}

/** Questions are asked where they stand in the stream: what was told before is stored before, and what follows waits. */
async function* invoke(work: Invocable, turn: Turn, direct: RuntimeAccess): AsyncGenerator<AgentYield, undefined> {
  const { message, taskId, contextId, history, signal } = turn
  const { ask, newArtifactId, contextHistory, journal, isReplaying } = direct
  const awaited = new Map<string, Awaited>()
  const answerTo = (messageId: string, waiting?: AnswerDeadline) =>
    new Promise<MessageEvent>((resolve, reject) => awaited.set(messageId, { waiting, resolve, reject }))
  const flow = createBacklog()
  const given = {
    taskId,
    contextId,
    history,
    earlier: contextHistory,
    signal,
    turn,
    answerTo,
    newArtifactId,
    settled: flow.settled,
  }
  const stream = work.invoke(message.parts, journal ? { ...given, journal, isReplaying } : given)
  for await (const said of isSubscribable<AgentYield>(stream) ? iterate(stream, signal, flow) : stream) {
    const question = said !== undefined && isEvent(said) && said.type === 'status' ? said : undefined
    const id = question?.status.message?.messageId ?? ''
    const asker = awaited.get(id)
    if (!question || !asker) {
      yield said
      continue
    }
    awaited.delete(id)
    await ask(question, asker.waiting).then(asker.resolve, asker.reject)
  }
}

interface Awaited {
  readonly waiting: AnswerDeadline | undefined
  readonly resolve: (answer: MessageEvent) => void
  readonly reject: (reason: unknown) => void
}

async function emitAll(
  running: AsyncIterable<AgentYield, AgentResult>,
  turn: Turn,
  { emit, markAsTask }: RuntimeAccess,
): Promise<Content | undefined> {
  markAsTask()
  let output: ArtifactWriter | undefined
  const steps = running[Symbol.asyncIterator]()
  for (;;) {
    const step = await steps.next()
    if (step.done) {
      await output?.close()
      return step.value ?? undefined
    }
    const said = step.value
    if (said === undefined) continue
    if (isEvent(said)) {
      await emit(said)
      continue
    }
    output ??= turn.artifact('response')
    await output.write(said)
  }
}
