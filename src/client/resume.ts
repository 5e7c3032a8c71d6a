import type { RequestOf, StreamOperation } from '../dialects/dialect.ts'
import type { Clock } from '../protocol/clock.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, SendRequest, Service } from '../protocol/service.ts'
import { type Backoff, delayAfter } from './backoff.ts'
import { createCursor } from './cursor.ts'
import type { Notice, Notify } from './notice.ts'
import { pause } from './pause.ts'
import type { Peer } from './peer.ts'
import { type PollOptions, poll, sendAndPoll } from './poll.ts'
import { isTransient, isUnsent, mayHaveRun } from './retry.ts'

export interface ResumeOptions {
  /** Whose streams break. */
  readonly service: Service
  readonly peer: Peer
  readonly backoff: Backoff
  readonly polling: PollOptions
  readonly clock: Clock
  readonly notify: Notify
}

/** A stream that lasted so long, in milliseconds, was no failure: its end begins a new count. */
const goodWhile = 5_000

type StreamRequest = RequestOf<StreamOperation>
type Open = () => AsyncGenerator<StreamEvent>

/** Streams that go on by themselves when they break. Who reads them sees each event once, in its order. */
export function resuming(options: ResumeOptions): (request: StreamRequest, call: Call) => AsyncGenerator<StreamEvent> {
  const { service, peer, backoff, clock, notify } = options
  const polling = { ...options.polling, clock }

  return async function* follow(request, call) {
    const { signal } = call
    const tellGap = once(() => notify(gap(cursor.taskId ?? '')))
    const cursor = createCursor({ ...('taskId' in request && { taskId: request.taskId }), onGap: tellGap })

    const direct: Open = () =>
      'message' in request ? service.streamMessage(request, call) : service.subscribeToTask(request, call)

    const polled = (sent: SendRequest, why: string): Open => {
      const onAnswer = () => {
        notify({ type: 'polling', message: `${why} The task is asked for again and again instead.` })
        peer.learn({ streams: false })
      }
      return () => sendAndPoll(service, sent, call, { ...polling, onAnswer, onPoll: () => cursor.reopen('looks') })
    }

    /** Where the agent does not stream, and says so before it has done anything. */
    const insteadOf = (failure: A2AError): Open | undefined => {
      if ('message' in request) return doesNotStream.has(failure.code) ? polled(request, failure.message) : undefined
      const { taskId, tellEnded } = request
      if (!tellEnded || !endsOrNeverBegins.has(failure.code)) return undefined
      cursor.reopen('looks')
      return () => poll(service, taskId, call, polling)
    }

    /** What comes after what was told, from wherever the agent tells it. */
    async function* again(taskId: string): AsyncGenerator<StreamEvent> {
      const after = peer.startsOver() ? undefined : cursor.generation
      cursor.reopen(after === undefined ? 'snapshot' : 'next')
      try {
        yield* service.subscribeToTask({ taskId, ...(after !== undefined && { after }) }, call)
      } catch (error) {
        if (!(error instanceof A2AError) || !endsOrNeverBegins.has(error.code)) throw error
        // It has ended meanwhile, or cannot be followed: either way it can be got.
        yield* poll(service, taskId, call, polling)
      }
    }

    /** Tells what is new in a stream. Returns why it ended before the task did; nothing if it did not. */
    async function* read(open: Open): AsyncGenerator<StreamEvent, A2AError | undefined> {
      try {
        for await (const event of open()) {
          for (const news of cursor.take(event)) {
            yield news
            if (news.isLast) return undefined
          }
          if (cursor.generation !== undefined) peer.learn({ numbersEvents: true })
        }
        return signal.aborted || cursor.isAtRest(false) ? undefined : endedEarly(cursor.taskId)
      } catch (error) {
        if (!(error instanceof A2AError)) throw error
        return isTransient(error) && cursor.isAtRest(true) ? undefined : error
      }
    }

    const isPolled = 'message' in request && !peer.streams()
    let open = isPolled ? polled(request, 'The agent does not stream, says its card.') : direct
    for (let failures = 0; ; ) {
      const begun = clock.now()
      const told = cursor.told
      const failure = yield* read(open)
      if (!failure) return
      if (cursor.told > told || clock.now() - begun > goodWhile) failures = 0
      const { taskId } = cursor
      const instead = open === direct && cursor.told === 0 ? insteadOf(failure) : undefined
      if (instead) {
        open = instead
        continue
      }
      if (!isTransient(failure)) throw failure
      if (taskId === undefined && !isUnsent(failure) && !peer.deduplicates()) throw mayHaveRun(failure)
      if (++failures > backoff.tries) throw failure
      await pause(Math.max((failure.retryAfter ?? 0) * 1000, delayAfter(failures, backoff)), signal, clock)
      if (signal.aborted) return
      if (taskId === undefined) continue
      notify({ type: 'resumed', taskId, tries: failures, message: failure.message })
      open = () => again(taskId)
    }
  }
}

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

/** Of an agent that was asked to stream. */
const doesNotStream: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'unsupported-operation',
  'streaming-not-supported',
  'method-not-found',
])

function gap(taskId: string): Notice {
  const message = 'The agent does not number its events: what it told while the stream was broken may be missing.'
  return { type: 'best-effort', taskId, message }
}

function endedEarly(taskId: string | undefined): A2AError {
  const problem =
    taskId === undefined
      ? 'The stream ended before anything came.'
      : `The stream of task ${taskId} ended although the task had not.`
  return new A2AError('unavailable', problem, { reason: 'ended-early' })
}

function once(action: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) action()
    isDone = true
  }
}
