import { withDeadline } from '../../base/abort.ts'
import type { Backoff } from '../../base/backoff.ts'
import type { Clock } from '../../base/clock.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type {
  Call,
  Operation,
  RequestOf,
  ResultOf,
  Service,
  StreamOperation,
  UnaryOperation,
} from '../../protocol/service.ts'
import { type Operations, serviceOf } from '../../transports/client/operations.ts'
import type { ConnectOptions, Notify } from '../options.ts'
import { newId } from '../send-request.ts'
import type { PeerCapabilities } from './peer-capabilities.ts'
import { resumingStream } from './resume-stream.ts'
import { isTransient, isUnsent, mayHaveRun, type RetryOptions, retryBackoff, retrying } from './retry.ts'

export interface TalkOptions extends Pick<ConnectOptions, 'retry' | 'resume' | 'polling'> {
  /** The agent, as it is. */
  readonly wire: Operations
  readonly peer: PeerCapabilities
  readonly clock: Clock
  /** Milliseconds that a call with one answer may take. */
  readonly timeout: number
  readonly notify: Notify
  readonly diagnose: (error: unknown) => A2AError
}

/** A call with a deadline of its own. */
export interface CallWithTimeout extends Call {
  readonly timeout?: number
}

/** A service that heals: it has deadlines, tries again what may be tried again, and goes on with broken streams. */
export function createResilientService(options: TalkOptions): Service {
  const { wire, clock, timeout, diagnose } = options

  async function ask<O extends UnaryOperation>(
    operation: O,
    request: RequestOf<O>,
    caller: CallWithTimeout,
  ): Promise<ResultOf<O>> {
    const { call, release } = timed(operation, caller, caller.timeout ?? timeout, clock)
    const attempt = () => wire.ask(operation, request, call)
    try {
      return await attempt()
    } catch (error) {
      return await retryCall(attempt, error, { ...options, operation, signal: call.signal })
    } finally {
      release()
    }
  }

  async function* follow<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    caller: CallWithTimeout,
  ): AsyncGenerator<StreamEvent> {
    const { call, release } = timed(operation, caller, caller.timeout ?? Number.POSITIVE_INFINITY, clock)
    const open = () => wire.follow(operation, request, call)
    try {
      const service = serviceOf({ ask, follow: wire.follow })
      yield* resumingStream({ ...options, service, request, call, direct: open })
      if (call.signal.reason instanceof A2AError) throw call.signal.reason
    } catch (error) {
      throw diagnose(error)
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
        throw diagnose(error)
      }
    },
  })
}

interface RetriedCall extends Pick<RetryOptions, 'signal' | 'clock'> {
  readonly retry?: Partial<Backoff>
  readonly operation: UnaryOperation
  readonly peer: PeerCapabilities
}

/** Asks once more what has failed, if that can do no harm. */
async function retryCall<T>(attempt: () => Promise<T>, failure: unknown, asked: RetriedCall): Promise<T> {
  const { operation, peer, signal, clock } = asked
  const backoff = retryBackoff(asked.retry)
  const isWorthIt = (error: A2AError) => isUnsent(error) || (isTransient(error) && mayRepeat(operation, peer))
  try {
    return await retrying(attempt, failure, { backoff, signal, clock, isWorthIt })
  } catch (error) {
    const isLost = operation === 'sendMessage' && error instanceof A2AError && isTransient(error) && !isWorthIt(error)
    throw isLost ? mayHaveRun(error) : error
  }
}

/** With its deadline. All tries of a send have one key. */
function timed(operation: Operation, caller: CallWithTimeout, limit: number, clock: Clock) {
  const { principal, headers, idempotencyKey } = caller
  const expired = () =>
    new A2AError('timeout', `There was no answer within ${limit / 1000} seconds.`, { reason: 'deadline' })
  const { signal, release } = withDeadline(caller.signal, limit, expired, clock)
  const isSend = operation === 'sendMessage' || operation === 'streamMessage'
  const call: Call = {
    principal,
    signal,
    headers,
    idempotencyKey: idempotencyKey ?? (isSend ? newId() : undefined),
    deadline: Number.isFinite(limit) ? clock.now() + limit : undefined,
  }
  return { call, release }
}

/** Whether it does no harm if it is done twice. */
function mayRepeat(operation: UnaryOperation, peer: PeerCapabilities): boolean {
  switch (operation) {
    case 'getTask':
    case 'listTasks':
    case 'getPushConfig':
    case 'listPushConfigs':
    case 'deletePushConfig':
    case 'getExtendedCard':
      return true
    case 'sendMessage':
      return peer.deduplicates()
    // Done already, it would be refused, and a second config may be one more.
    case 'cancelTask':
    case 'createPushConfig':
      return false
  }
}
