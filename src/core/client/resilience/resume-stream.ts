import type { Backoff } from '../../base/backoff.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import { neverConnected } from '../../http/network-failure.ts'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Call, RequestOf, SendRequest, Service, StreamOperation } from '../../protocol/service.ts'
import type { Notice, Notify } from '../options.ts'
import { createBufferingDetector } from './detect-buffering.ts'
import { type CancelListeners, endWithTask, type Open } from './end-with-task.ts'
import { type PollOptions, poll, sendAndPoll } from './poll.ts'
import {
  exceedsRetryAfter,
  isTransient,
  isUnsent,
  mayHaveRun,
  type PeerCapabilities,
  requireTime,
  retryBackoff,
  retryDelay,
} from './retry.ts'
import { createPosition, createStreamCursor, isNext, isSettled, type StreamPosition } from './stream-position.ts'

/** Milliseconds after which a stream counts as healthy: its end starts a new count of failures. */
const healthyAfter = 5_000

export interface StreamOptions {
  /** The service for polling and resubscribing. */
  readonly service: Service
  readonly request: RequestOf<StreamOperation>
  readonly call: Call
  /** Opens the requested stream. */
  readonly open: Open
  readonly peer: PeerCapabilities
  readonly retry?: Partial<Backoff>
  readonly resume?: Partial<Backoff>
  readonly polling?: Partial<PollOptions>
  readonly clock: Clock
  readonly notify: Notify
  readonly cancelListeners: CancelListeners
}

/** A stream that resumes by itself when it breaks. Its reader sees each event once, in order. */
export async function* resumingStream(options: StreamOptions): AsyncGenerator<StreamEvent> {
  const { call, clock, notify } = options
  const detector = createBufferingDetector(clock.now)
  for await (const event of unbrokenStream(options)) {
    detector.record(event)
    yield event
  }
  const notice = detector.result()
  if (notice && !call.signal.aborted) notify(notice)
}

async function* unbrokenStream(options: StreamOptions): AsyncGenerator<StreamEvent> {
  const { request, open, peer, clock } = options
  const position = createPosition('taskId' in request ? request.taskId : undefined)
  const openedAt = clock.now()
  if ('message' in request && !peer.streams()) return yield* resumeStream({ ...options, position, openedAt })
  const streamBreak = yield* readUntilBreak(open, { ...options, position }, takeNext(position))
  if (streamBreak) yield* resumeStream({ ...options, position, openedAt, streamBreak })
}

/** Takes the events of a stream that has not been interrupted: all but repetitions. */
function takeNext(position: StreamPosition): Take {
  return (event) => {
    if (!isNext(position, event)) return []
    position.emitted++
    return [event]
  }
}

/** Returns the events that the reader has not seen. */
type Take = (event: StreamEvent) => readonly StreamEvent[]

/** Why a stream is over before its task: it failed, or just ended. */
type StreamBreak = A2AError | 'ended'

/** Emits the new events of a stream. Returns why it is over before its task; undefined if the task is over. */
async function* readUntilBreak(
  open: Open,
  stream: StreamOptions & { readonly position: StreamPosition },
  take: Take,
): AsyncGenerator<StreamEvent, StreamBreak | undefined> {
  const { position, peer } = stream
  const { signal } = stream.call
  try {
    for await (const event of endWithTask(open, stream)) {
      for (const newEvent of take(event)) {
        yield newEvent
        if (newEvent.isLast) return undefined
      }
      if (position.generation !== undefined) peer.update({ numbersEvents: true })
    }
    return signal.aborted || isSettled(position, false) ? undefined : 'ended'
  } catch (error) {
    // A caller that aborts just ends the stream, even while the client polls.
    if (signal.aborted && !(signal.reason instanceof A2AError)) return undefined
    if (error instanceof A2AError) return error
    throw error
  }
}

interface BrokenStream extends StreamOptions {
  readonly position: StreamPosition
  /** When the stream was opened, in milliseconds since 1970. */
  readonly openedAt: number
  /** Why the stream is over; undefined if it was never opened because the agent does not stream. */
  readonly streamBreak?: StreamBreak
}

/** The events after a break, until the task has ended or needs input. */
async function* resumeStream(stream: BrokenStream): AsyncGenerator<StreamEvent> {
  const { request, position, open: openDirectly, peer, clock, notify } = stream
  const { signal, deadline } = stream.call
  const tries = deadline === undefined ? 8 : Number.POSITIVE_INFINITY
  const resuming = { tries, minDelay: 250, maxDelay: 15_000, ...stream.resume }
  const connecting = retryBackoff(stream.retry)
  const sources = createSources(stream)
  const read = (open: Open) => readUntilBreak(open, stream, sources.take)

  let { streamBreak, openedAt } = stream
  let open = openDirectly
  let emittedBefore = 0
  // The first attempt to send a message fails soon if there is no connection; a task that exists is worth waiting for.
  let hasConnected = position.taskId !== undefined
  if (streamBreak === undefined && 'message' in request) {
    open = sources.sendAndPoll(request)
    streamBreak = yield* read(open)
  }
  for (let failures = 0; streamBreak !== undefined; ) {
    const failure: A2AError = streamBreak === 'ended' ? endedEarly(position.taskId) : streamBreak
    if (streamBreak !== 'ended' && isTransient(failure) && isSettled(position, true)) return
    const isUnreachable = neverConnected.has(failure.reason ?? '')
    hasConnected ||= !isUnreachable
    const isHealthy = !isUnreachable && clock.now() - openedAt > healthyAfter
    if (position.emitted > emittedBefore || isHealthy) failures = 0
    const { taskId } = position
    const isRejected = open === openDirectly && position.emitted === 0
    const instead = isRejected ? sources.insteadOfStream(failure) : undefined
    if (instead) open = instead
    else {
      if (!isTransient(failure)) throw failure
      if (taskId === undefined && !isUnsent(failure) && !peer.deduplicates()) throw mayHaveRun(failure)
      failures++
      // Sends of agents that are polled have been repeated already.
      const isOver = hasConnected ? failures > resuming.tries : failures >= connecting.tries || open !== openDirectly
      if (isOver || exceedsRetryAfter(failure)) throw failure
      await sleep(retryDelay(failure, failures, hasConnected ? resuming : connecting), signal, clock)
      requireTime(signal, failure)
      if (signal.aborted) return
      if (taskId !== undefined) {
        notify({ type: 'resumed', taskId, tries: failures, message: failure.message })
        open = failures % 2 === 0 ? sources.poll(taskId) : (streamSignal) => sources.resubscribe(taskId, streamSignal)
      }
    }
    openedAt = clock.now()
    emittedBefore = position.emitted
    streamBreak = yield* read(open)
  }
}

/** Where the events of a task come from after its first stream, and the cursor that drops what the reader has seen. */
function createSources({ service, request, call, position, peer, clock, notify, polling: options }: BrokenStream) {
  const polling = { minDelay: 500, maxDelay: 5_000, ...options, clock }
  const cursor = createStreamCursor(
    position,
    once(() => notify(gapNotice(position.taskId ?? ''))),
  )

  /** `refusal` is why the agent refused to stream; undefined if its card does not declare streams. */
  function sendThenPoll(send: SendRequest, refusal?: string): Open {
    const onAnswer = () => {
      const why = refusal ?? 'The card does not declare streaming.'
      notify({ type: 'polling', message: `${why} The client polls the task instead.` })
      if (refusal !== undefined) peer.update({ streams: false })
    }
    const onPoll = () => cursor.reopen('polling')
    return () => sendAndPoll(service, send, call, { ...polling, onAnswer, onPoll })
  }

  return {
    take: cursor.take,
    sendAndPoll: sendThenPoll,

    /** What to do if the agent rejects the stream before it has done anything, because it does not stream. */
    insteadOfStream({ code, message, status }: A2AError): Open | undefined {
      // Google ADK 1.x reports that it does not stream as an internal error, as a plain response.
      const isRefused = noStreaming.has(code) || (code === 'internal' && status === 200)
      if ('message' in request) return isRefused ? sendThenPoll(request, message) : undefined
      const { taskId, includeEnded } = request
      if (!includeEnded || !noSubscription.has(code)) return undefined
      cursor.reopen('polling')
      return () => poll(service, taskId, call, polling)
    },

    /**
     * Some agents of the Python SDK cut every subscription to a task whose first stream was left. Agents that number
     * their events resume streams.
     */
    poll(taskId: string): Open {
      if (position.generation !== undefined) return (signal) => this.resubscribe(taskId, signal)
      return () => {
        cursor.reopen('polling')
        return poll(service, taskId, call, polling)
      }
    },

    async *resubscribe(taskId: string, signal: AbortSignal): AsyncGenerator<StreamEvent> {
      const after = peer.cannotResume() ? undefined : position.generation
      cursor.reopen(after === undefined ? 'snapshot' : 'next')
      try {
        yield* service.subscribeToTask({ taskId, after }, { ...call, signal })
      } catch (error) {
        if (!(error instanceof A2AError) || !noSubscription.has(error.code)) throw error
        // The task has ended meanwhile, or the agent has no subscriptions: either way, getTask works.
        yield* poll(service, taskId, call, polling)
      }
    },
  }
}

function once(action: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) action()
    isDone = true
  }
}

function gapNotice(taskId: string): Notice {
  const message = 'The agent does not number its events: those sent while the stream was broken may be missing.'
  return { type: 'best-effort', taskId, message }
}

/** Errors by which agents reject a streaming send because they do not stream. */
const noStreaming: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'unsupported-operation',
  'streaming-not-supported',
  'method-not-found',
])

/** Errors by which agents reject a subscription because the task has ended, or because they have none. */
const noSubscription: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'task-ended',
  'unsupported-operation',
  'streaming-not-supported',
  'method-not-found',
  'invalid-params',
  // The codes of some SDKs.
  'invalid-request',
  'internal',
])

function endedEarly(taskId: string | undefined): A2AError {
  const problem =
    taskId === undefined
      ? 'The stream ended before its first event.'
      : `The stream of task ${taskId} ended although the task has not.`
  return new A2AError('unavailable', problem, { reason: 'ended-early' })
}
