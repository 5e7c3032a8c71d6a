import { A2AError, fromStoredError, invalidParams } from '../../protocol/errors.ts'
import type { ArtifactEvent, StatusEvent, StoredEvent, StreamEvent, TaskEvent } from '../../protocol/events.ts'
import { type Task, type TaskState, textOf } from '../../protocol/model.ts'
import type { Call, SendQuirks, SendRequest, SubscribeRequest } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import {
  type Fold,
  type FoldedLog,
  foldUntil,
  isClosing,
  limitHistory,
  loadFold,
  toClosingUpdate,
} from '../../tasks/fold.ts'
import { createPageReader } from '../../tasks/follow.ts'
import type { NewTask } from '../../tasks/log.ts'
import type { OperationContext } from '../caller-log.ts'
import type { OpenStream } from '../open-streams.ts'
import { acceptMessage } from './accept-message.ts'
import { cancelAbandoned } from './cancel-task.ts'
import type { AcceptedMessage } from './idempotency.ts'

/** What the operation of a stream works with. */
export interface StreamContext extends OperationContext {
  readonly stream: OpenStream
}

/**
 * Stores a message and opens the stream of its task. The task continues when the reader stops, unless the request has
 * `cancelOnDisconnect` and the reader has disconnected.
 */
export async function streamMessage(
  request: SendRequest,
  call: Call,
  context: StreamContext,
): Promise<AsyncGenerator<StreamEvent, void>> {
  const { log, stream } = context
  const message = await acceptMessage(request, call, { ...context, isStreamed: true })
  const { task, generation, isRepeated } = message
  stream.taskId = task.taskId
  if (request.cancelOnDisconnect) stream.onDisconnect = () => cancelAbandoned(task, context)
  const { after, quirks } = request
  // A repeated message may resume its stream. A new one has nothing to resume.
  if (isRepeated && after !== undefined && after >= generation) {
    return await subscribeToTask({ taskId: task.taskId, after, quirks }, call, context)
  }
  const historyLength = request.configuration?.historyLength
  const options = { signal: call.signal, quirks, stream, historyLength }
  return streamTask(log, task, await foldAccepted(message, log), options)
}

/** Opens the stream of the current task and its changes; with `after`, only of the changes beyond that generation. */
export async function subscribeToTask(
  request: SubscribeRequest,
  call: Call,
  { log, stream }: Pick<StreamContext, 'log' | 'stream'>,
): Promise<AsyncGenerator<StreamEvent, void>> {
  const { after, includeEnded, quirks } = request
  const head = await log.task(request)
  const { phase, generation } = head
  stream.taskId = head.taskId
  if (after !== undefined && after > generation) {
    throw invalidParams('Last-Event-ID', `task ${request.taskId} is at event ${generation}, and ${after} is beyond it`)
  }
  // A reader that has missed the last events of an ended task may still read them.
  if (isEnded(phase) && !includeEnded && (after === undefined || after === generation)) {
    throw new A2AError('task-ended', `Task ${request.taskId} is ${phase}: there is nothing to follow, get it instead.`)
  }
  const seen = after === generation && isEnded(phase) ? undefined : after
  const options = { signal: call.signal, quirks, stream }
  return streamTask(log, head, seen ?? (await loadFold(log, head)), options)
}

/** The task when the message was accepted, with the status that was stored in the same write. */
export async function foldAccepted({ task, generation }: AcceptedMessage, log: FoldedLog): Promise<Fold> {
  const fold = await foldUntil(log, task, generation)
  if (generation === 1) return fold
  const [next] = await log.read(task.taskId, generation)
  if (next?.event.type === 'status' && next.event.withAnswer) fold.apply(next)
  return fold
}

export interface StreamOptions {
  readonly signal: AbortSignal
  readonly quirks?: Omit<SendQuirks, 'mayAnswer'> | undefined
  readonly stream?: OpenStream | undefined
  /** How many messages the history of the task may have. */
  readonly historyLength?: number | undefined
}

/**
 * Streams a task to a reader. From a fold: the task as soon as there is one, then every change. From a generation: every
 * change after it. The stream ends when the task has ended or waits for its caller. If the agent answers with a message,
 * that message is the whole stream.
 */
export async function* streamTask(
  log: FoldedLog,
  task: NewTask,
  from: Fold | number,
  options: StreamOptions,
): AsyncGenerator<StreamEvent, void> {
  const { taskId, contextId } = task
  const after = typeof from === 'number' ? from : from.generation
  /** Grows until the task is sent, and is dropped then: a reader must not hold artifacts. */
  let unsent = typeof from === 'number' ? undefined : from
  /** The generation of the last event in the stream. Unknown before the first one. */
  let last: number | undefined
  const current = unsent?.task()
  if (current) {
    const isLast = isEnded(current.status.state)
    if (isLast) markOver(options)
    yield { type: 'task', task: limitHistory(current, options.historyLength), isLast, follows: after }
    last = after
    if (isLast) return
    unsent = undefined
  }
  const reader = createPageReader(log, taskId, after, options.signal)
  for (let page = await reader.next(); page; page = await reader.next()) {
    for (const stored of options.quirks?.closesSeparately ? page.map(toClosingEvent) : markLastChunks(page)) {
      const { generation, event } = stored
      if (event.type === 'reply') {
        if (event.error) throw fromStoredError(event.error)
        markOver(options)
        return yield { type: 'message', message: event.message, isLast: true }
      }
      if (options.quirks?.failuresAsErrors) requireTouched(event, options.quirks.alias ?? taskId)
      const isLast = event.type === 'status' && endsStream(event.status.state, options)
      if (isLast) markOver(options)
      unsent?.apply(stored)
      const created: Task | undefined = unsent?.task()
      if (created) {
        yield { type: 'task', task: limitHistory(created, options.historyLength), isLast, follows: after }
        unsent = undefined
        last = generation
      } else if (event.type === 'status' || event.type === 'artifact') {
        // Other events, such as the caller's messages, are not part of an A2A stream.
        const follows = last !== undefined && generation === last + 1 ? undefined : (last ?? after)
        const isClosed = options.quirks?.repeatsClosed && event.type === 'artifact' && event.append && event.lastChunk
        const sent = isClosed ? await wholeArtifact(log, task, { generation, event }) : event
        yield { ...withoutTrace(sent), taskId, contextId, generation, follows, isLast }
        last = generation
      }
      if (isLast) return
    }
  }
}

/** The trace of a task is for its operator. */
function withoutTrace<T extends ArtifactEvent | StatusEvent>(event: T & Pick<TaskEvent, 'traceChunk'>): T {
  if (!event.traceChunk) return event
  const { traceChunk: _, ...sent } = event
  return sent as unknown as T
}

function markOver({ stream }: StreamOptions): void {
  if (stream) stream.isOver = true
}

/** Throws the error of an agent that rejected the message or failed before it touched the task. */
export function requireTouched(event: TaskEvent, taskId: string): void {
  if (event.type !== 'status') return
  if (event.error) throw fromStoredError(event.error)
  if (!event.isUntouched) return
  const { message } = event.status
  throw new A2AError('internal', message ? textOf(message) : 'The agent failed.', { metadata: { taskId } })
}

/** The last chunk of an artifact as one that replaces all chunks before it. */
async function wholeArtifact(
  log: FoldedLog,
  task: NewTask,
  { event, generation }: { readonly event: ArtifactEvent; readonly generation: number },
): Promise<ArtifactEvent> {
  const { artifactId } = event.artifact
  const artifacts = (await foldUntil(log, task, generation)).task()?.artifacts
  const artifact = artifacts?.find((other) => other.artifactId === artifactId)
  return artifact ? { ...event, artifact, append: false } : event
}

/**
 * Marks the last chunk of an artifact that is closed by an event without parts. If that chunk was sent before, an empty
 * text follows it, because an artifact on the wire needs a part.
 */
function markLastChunks(page: readonly StoredEvent[]): readonly StoredEvent[] {
  if (!page.some(({ event }) => event.type === 'artifact' && isClosing(event))) return page
  const marked: StoredEvent[] = []
  /** Positions of the chunks, by their artifact. */
  const chunks = new Map<string, number>()
  for (const { generation, event } of page) {
    const artifactId = event.type === 'artifact' ? event.artifact.artifactId : ''
    const position = chunks.get(artifactId) ?? marked.length
    const chunk = marked[position]
    if (event.type !== 'artifact' || !isClosing(event)) {
      if (artifactId !== '') chunks.set(artifactId, marked.length)
      marked.push({ generation, event })
    } else if (chunk?.event.type === 'artifact') {
      const metadata = event.metadata && { metadata: { ...chunk.event.metadata, ...event.metadata } }
      // Who resumes after the marked chunk has the end of its artifact as well.
      const isNext = generation === chunk.generation + 1
      const marker = { ...chunk.event, ...metadata, lastChunk: true }
      marked[position] = { generation: isNext ? generation : chunk.generation, event: marker }
    } else marked.push({ generation, event: toClosingUpdate(event) })
  }
  return marked
}

/** The end of an artifact as an update of its own: an artifact on the wire needs a part. */
function toClosingEvent(stored: StoredEvent): StoredEvent {
  const { event } = stored
  return event.type === 'artifact' && isClosing(event) ? { ...stored, event: toClosingUpdate(event) } : stored
}

/** A task that waits for credentials may continue by itself; one that waits for input does not. */
function endsStream(state: TaskState, { quirks }: StreamOptions): boolean {
  if (state === 'input-required') return !quirks?.holdOnInput
  return isEnded(state) || (quirks?.endOnAuth === true && state === 'auth-required')
}
