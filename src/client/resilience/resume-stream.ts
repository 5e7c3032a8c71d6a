import type { Backoff } from '../../base/backoff.ts'
import { type Clock, sleep } from '../../base/clock.ts'

import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Call, RequestOf, SendRequest, Service, StreamOperation } from '../../protocol/service.ts'
import type { Notice, Notify } from '../options.ts'
import { createBufferingDetector } from './detect-buffering.ts'
import type { PeerCapabilities } from './peer-capabilities.ts'
import { type PollOptions, poll, sendAndPoll } from './poll.ts'
import { asksForTooLong, isTransient, isUnsent, mayHaveRun, pauseAfter } from './retry.ts'
import { createCursor, createPosition, isAtRest, isNext, type StreamPosition } from './stream-position.ts'

/** A stream that lasted so long, in milliseconds, was no failure: its end begins a new count. */
const goodWhile = 5_000

export interface ResumeOptions {
  /** Whose streams break. */
  readonly service: Service
  readonly peer: PeerCapabilities
  readonly backoff: Backoff
  readonly polling: PollOptions
  readonly clock: Clock
  readonly notify: Notify
}

export type StreamRequest = RequestOf<StreamOperation>

export type Open = () => AsyncGenerator<StreamEvent>

/** Why a stream is over before its task is: it failed, or just ended. */
export type StreamBreak = A2AError | 'ended'

export interface BrokenStream extends ResumeOptions {
  readonly request: StreamRequest
  readonly call: Call
  readonly position: StreamPosition
  /** Opens the stream as it was asked for. */
  readonly direct: Open
  /** When it was, in milliseconds since 1970. */
  readonly begun: number
  /** Why it is over; undefined if there was none, since the agent does not stream. */
  readonly broken: StreamBreak | undefined
}

export interface StreamOptions extends Omit<BrokenStream, 'position' | 'begun' | 'broken' | 'backoff' | 'polling'> {
  readonly resume?: Partial<Backoff>
  readonly polling?: Partial<PollOptions>
}

/** A stream that resumes by itself when it breaks. Its reader sees each event once, in order. */
export async function* resumingStream(options: StreamOptions): AsyncGenerator<StreamEvent> {
  const { clock, notify } = options
  const pace = createBufferingDetector(clock.now)
  for await (const event of unbroken(options)) {
    pace.note(event)
    yield event
  }
  const verdict = pace.result()
  if (verdict && !options.call.signal.aborted) notify(verdict)
}

export type Take = (event: StreamEvent) => readonly StreamEvent[]

/** Tells what is new in a stream. Returns why it is over before the task is; nothing if it is not. */
async function* readUntilBreak(
  open: Open,
  position: StreamPosition,
  peer: PeerCapabilities,
  { signal }: Call,
  take: Take,
): AsyncGenerator<StreamEvent, StreamBreak | undefined> {
  try {
    for await (const event of open()) {
      for (const news of take(event)) {
        yield news
        if (news.isLast) return undefined
      }
      if (position.generation !== undefined) peer.update({ numbersEvents: true })
    }
    return signal.aborted || isAtRest(position, false) ? undefined : 'ended'
  } catch (error) {
    if (error instanceof A2AError) return error
    throw error
  }
}

/** What comes after what was told before a stream broke, until the task rests. */
async function* resumeStream(stream: BrokenStream): AsyncGenerator<StreamEvent> {
  const { request, call, position, direct, service, peer, backoff, clock, notify } = stream
  const { signal } = call
  const polling = { ...stream.polling, clock }
  const cursor = createCursor(
    position,
    once(() => notify(gap(position.taskId ?? ''))),
  )

  const polled = (sent: SendRequest, why: string): Open => {
    const onAnswer = () => {
      notify({ type: 'polling', message: `${why} The task is asked for again and again instead.` })
      peer.update({ streams: false })
    }
    return () => sendAndPoll(service, sent, call, { ...polling, onAnswer, onPoll: () => cursor.reopen('looks') })
  }

  /** Where the agent does not stream, and says so before it has done anything. */
  const insteadOf = (failure: A2AError): Open | undefined => {
    if ('message' in request) return doesNotStream.has(failure.code) ? polled(request, failure.message) : undefined
    const { taskId, includeEnded } = request
    if (!includeEnded || !endsOrNeverBegins.has(failure.code)) return undefined
    cursor.reopen('looks')
    return () => poll(service, taskId, call, polling)
  }

  /** What comes after what was told, from wherever the agent tells it. */
  async function* again(taskId: string): AsyncGenerator<StreamEvent> {
    const after = peer.startsOver() ? undefined : position.generation
    cursor.reopen(after === undefined ? 'snapshot' : 'next')
    try {
      yield* service.subscribeToTask({ taskId, ...(after !== undefined && { after }) }, call)
    } catch (error) {
      if (!(error instanceof A2AError) || !endsOrNeverBegins.has(error.code)) throw error
      // It has ended meanwhile, or cannot be followed: either way it can be got.
      yield* poll(service, taskId, call, polling)
    }
  }

  let { broken, begun } = stream
  let open = direct
  let told = 0
  if (broken === undefined && 'message' in request) {
    open = polled(request, 'The agent does not stream, says its card.')
    broken = yield* readUntilBreak(open, position, peer, call, cursor.take)
  }
  for (let failures = 0; broken !== undefined; ) {
    const failure: A2AError = broken === 'ended' ? endedEarly(position.taskId) : broken
    if (broken !== 'ended' && isTransient(failure) && isAtRest(position, true)) return
    if (position.told > told || clock.now() - begun > goodWhile) failures = 0
    const { taskId } = position
    const instead = open === direct && position.told === 0 ? insteadOf(failure) : undefined
    if (instead) open = instead
    else {
      if (!isTransient(failure)) throw failure
      if (taskId === undefined && !isUnsent(failure) && !peer.deduplicates()) throw mayHaveRun(failure)
      if (++failures > backoff.tries || asksForTooLong(failure)) throw failure
      await sleep(pauseAfter(failure, failures, backoff), signal, clock)
      if (signal.aborted) return
      if (taskId !== undefined) {
        notify({ type: 'resumed', taskId, tries: failures, message: failure.message })
        open = () => again(taskId)
      }
    }
    begun = clock.now()
    told = position.told
    broken = yield* readUntilBreak(open, position, peer, call, cursor.take)
  }
}

function once(action: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) action()
    isDone = true
  }
}

function gap(taskId: string): Notice {
  const message = 'The agent does not number its events: what it told while the stream was broken may be missing.'
  return { type: 'best-effort', taskId, message }
}

/** Of an agent that was asked to stream. */
const doesNotStream: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'unsupported-operation',
  'streaming-not-supported',
  'method-not-found',
])

/** Of an agent that was asked to follow a task. */
const endsOrNeverBegins: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'task-ended',
  'unsupported-operation',
  'streaming-not-supported',
  'method-not-found',
  'invalid-params',
  // As some SDKs say it.
  'invalid-request',
  'internal',
])

function endedEarly(taskId: string | undefined): A2AError {
  const problem =
    taskId === undefined
      ? 'The stream ended before anything came.'
      : `The stream of task ${taskId} ended although the task had not.`
  return new A2AError('unavailable', problem, { reason: 'ended-early' })
}

async function* unbroken(options: StreamOptions): AsyncGenerator<StreamEvent> {
  const { request, call, direct, peer, clock } = options
  const position = createPosition('taskId' in request ? request.taskId : undefined)
  const isPolled = 'message' in request && !peer.streams()
  const begun = clock.now()
  const broken = isPolled ? undefined : yield* readUntilBreak(direct, position, peer, call, nextOf(position))
  if (!broken && !isPolled) return
  const backoff = { tries: 8, minDelay: 250, maxDelay: 15_000, ...options.resume }
  const polling = { minDelay: 500, maxDelay: 5_000, ...options.polling }
  yield* resumeStream({ ...options, position, begun, broken, backoff, polling })
}

function nextOf(position: StreamPosition): Take {
  return (event) => {
    if (!isNext(position, event)) return []
    position.told++
    return [event]
  }
}
