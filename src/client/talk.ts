import type { RequestOf, ResultOf, StreamOperation, UnaryOperation } from '../dialects/dialect.ts'
import { withDeadline } from '../http/deadline.ts'
import type { Clock } from '../protocol/clock.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, Operation, Service } from '../protocol/service.ts'
import { type Operations, serviceOf } from '../transports/service-of.ts'
import type { Backoff } from './backoff.ts'
import type { ResumeOptions } from './heal.ts'
import { newId } from './new-id.ts'
import type { Notify } from './notice.ts'
import { loaded } from './loaded.ts'
import { onTrouble } from './on-trouble.ts'
import type { Peer } from './peer.ts'

export interface TalkOptions extends Pick<ResumeOptions, 'polling' | 'clock'> {
  /** The agent, as it is. */
  readonly wire: Operations
  readonly peer: Peer
  readonly retry: Backoff
  readonly resume: Backoff
  /** Milliseconds that a call with one answer may take. */
  readonly timeout: number
  readonly notify: Notify
  readonly diagnose: (error: unknown) => Promise<A2AError>
}

/** A call with a deadline of its own. */
export interface TimedCall extends Call {
  readonly timeout?: number
}

/** A service that heals: it has deadlines, tries again what may be tried again, and goes on with broken streams. */
export function createTalk(options: TalkOptions): Service {
  const { wire, peer, retry, polling, clock, timeout, notify, diagnose } = options

  async function ask<O extends UnaryOperation>(
    operation: O,
    request: RequestOf<O>,
    call: TimedCall,
  ): Promise<ResultOf<O>> {
    const limit = call.timeout ?? timeout
    const { signal, release } = withDeadline(call.signal, limit, () => expired(limit), clock)
    const asked = { ...keyed(operation, call), signal, ...deadlineIn(limit, clock) }
    const attempt = () => wire.ask(operation, request, asked)
    try {
      return await attempt()
    } catch (error) {
      const trouble = await onTrouble()
      if (!trouble) throw error
      return await trouble.askAgain(attempt, error, { operation, peer, backoff: retry, signal, clock })
    } finally {
      release()
    }
  }

  async function* follow<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    caller: TimedCall,
  ): AsyncGenerator<StreamEvent> {
    const { timeout: limit = Number.POSITIVE_INFINITY } = caller
    const { signal, release } = withDeadline(caller.signal, limit, () => expired(limit), clock)
    const call = { ...keyed(operation, caller), signal, ...deadlineIn(limit, clock) }
    const open = () => wire.follow(operation, request, call)
    const isPolled = operation === 'streamMessage' && !peer.streams()
    try {
      // What heals the stream is loaded while the agent is asked; the stream can do without, but not for it.
      let opened = isPolled ? undefined : begun(open())
      const loading = loaded('go on with a stream', () => import('./streams.ts'))
      const streams = await (isPolled ? loading : loading.catch(() => undefined))
      const direct = () => {
        const stream = opened ?? open()
        opened = undefined
        return stream
      }
      const service = serviceOf({ ask, follow: wire.follow })
      const healed = streams?.healing({ service, peer, backoff: options.resume, polling, clock, notify, request, call, direct })
      yield* healed ?? direct()
      if (signal.reason instanceof A2AError) throw signal.reason
    } catch (error) {
      throw await diagnose(error)
    } finally {
      release()
    }
  }

  return serviceOf({
    follow,
    async ask<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>> {
      try {
        return await ask(operation, request, call)
      } catch (error) {
        throw await diagnose(error)
      }
    },
  })
}

/** All tries of a send have one key. */
function keyed(operation: Operation, { principal, signal, idempotencyKey, headers }: Call): Call {
  const isSend = operation === 'sendMessage' || operation === 'streamMessage'
  const key = idempotencyKey ?? (isSend ? newId() : undefined)
  return { principal, signal, idempotencyKey: key, headers }
}

function deadlineIn(milliseconds: number, clock: Clock): Pick<Call, 'deadline'> {
  return Number.isFinite(milliseconds) ? { deadline: clock.now() + milliseconds } : {}
}

function expired(milliseconds: number): A2AError {
  return new A2AError('timeout', `There was no answer within ${milliseconds / 1000} seconds.`, { reason: 'deadline' })
}

/** Asks at once, and not only when the first event is wanted. */
function begun<T>(stream: AsyncGenerator<T>): AsyncGenerator<T> {
  const first = stream.next()
  // Told to whoever reads it.
  first.catch(() => {})
  return rest(first, stream)
}

async function* rest<T>(first: Promise<IteratorResult<T>>, stream: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    for (let each = await first; !each.done; each = await stream.next()) yield each.value
  } finally {
    await stream.return(undefined)
  }
}
