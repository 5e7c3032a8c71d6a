import type { RequestOf, ResultOf, StreamOperation, UnaryOperation } from '../dialects/dialect.ts'
import { withDeadline } from '../http/deadline.ts'
import type { Clock } from '../protocol/clock.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, Operation, Service } from '../protocol/service.ts'
import { serviceOf } from '../transports/service-of.ts'
import type { Backoff } from './backoff.ts'
import type { ResumeOptions } from './heal.ts'
import { newId } from './new-id.ts'
import type { Notify } from './notice.ts'
import { createPace } from './pace.ts'
import type { Peer } from './peer.ts'
import { resuming } from './resume.ts'
import { operationsOf } from './way.ts'

export interface TalkOptions extends Pick<ResumeOptions, 'polling' | 'clock'> {
  /** The wire, as it is. */
  readonly service: Service
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
  const { service, peer, retry, polling, clock, timeout, notify, diagnose } = options
  const wire = operationsOf(service)

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
      const again = await import('./ask-again.ts').catch(() => undefined)
      if (!again) throw error
      return await again.askAgain(attempt, error, { operation, peer, backoff: retry, signal, clock })
    } finally {
      release()
    }
  }

  const resume = resuming({
    service: serviceOf({ ask, follow: wire.follow }),
    peer,
    backoff: options.resume,
    polling,
    clock,
    notify,
  })

  async function* follow<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    call: TimedCall,
  ): AsyncGenerator<StreamEvent> {
    const { timeout: limit = Number.POSITIVE_INFINITY } = call
    const { signal, release } = withDeadline(call.signal, limit, () => expired(limit), clock)
    const pace = createPace(clock.now)
    try {
      for await (const event of resume(request, { ...keyed(operation, call), signal, ...deadlineIn(limit, clock) })) {
        pace.note(event)
        yield event
      }
      if (signal.reason instanceof A2AError) throw signal.reason
      const verdict = pace.verdict()
      if (verdict) notify(verdict)
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
