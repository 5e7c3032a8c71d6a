import { withDeadline } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { Endpoint } from '../../dialects/endpoints.ts'
import type { AgentCard } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import { restoreAnswer, restoreAnswers } from '../../protocol/extensions/answer.ts'
import { declaresIdempotency } from '../../protocol/extensions/idempotency.ts'
import { type Interceptor, intercept, type UnaryNext } from '../../protocol/intercept.ts'
import type { Call, Operation, RequestOf, ResultOf, Service, UnaryOperation } from '../../protocol/service.ts'
import type { CallWithTimeout, ConnectOptions, Notify } from '../options.ts'
import { newId } from '../send-request.ts'
import type { CancelListeners } from './end-with-task.ts'
import { resumingStream } from './resume-stream.ts'
import { isRepeatable, isTransient, isUnsent, mayHaveRun, type PeerCapabilities, retry, retryBackoff } from './retry.ts'

export interface ResilienceOptions extends Pick<ConnectOptions, 'retry' | 'resume' | 'polling'> {
  /** The agent, called without retries. */
  readonly wire: Service
  readonly peer: PeerCapabilities
  readonly clock: Clock
  /** Milliseconds for a unary call, including its retries. */
  readonly timeout: number
  readonly notify: Notify
  /** Adds a hint to an error. */
  readonly diagnose: (error: unknown) => A2AError
}

/** A service with deadlines that repeats calls where that is safe, and resumes broken streams. */
export function createResilientService(options: ResilienceOptions): Service {
  const cancelListeners: CancelListeners = new Set()
  const retrying = intercept(options.wire, [retryInterceptor(options), answerInterceptor])
  return intercept(retrying, [
    diagnoseInterceptor(options),
    cancelInterceptor(cancelListeners),
    resumeInterceptor(options, retrying, cancelListeners),
  ])
}

/** Puts the answers of Parley agents back into the status, where the log of the agent has them. */
const answerInterceptor: Interceptor = {
  stream: (_operation, request, call, next) => restoreAnswers(next(request, call)),
  async sendMessage(request, call, next) {
    const outcome = await next(request, call)
    return outcome.type === 'task' ? { ...outcome, task: restoreAnswer(outcome.task) } : outcome
  },
  getTask: async (request, call, next) => restoreAnswer(await next(request, call)),
  cancelTask: async (request, call, next) => restoreAnswer(await next(request, call)),
  async listTasks(request, call, next) {
    const page = await next(request, call)
    return { ...page, tasks: page.tasks.map(restoreAnswer) }
  },
}

export interface PeerOptions {
  /** The current card: the extended one may declare more. */
  readonly card: () => AgentCard
  readonly endpoint: () => Endpoint | undefined
  /** Defaults to whether the card declares it, or the agent numbers its events, as Parley does. */
  readonly deduplicates?: boolean
}

export function createPeerCapabilities({ card, endpoint, deduplicates }: PeerOptions): PeerCapabilities {
  let numbersEvents = false
  let streams: boolean | undefined
  const cannotResume = () => endpoint()?.dialect.cannotResume === true
  return {
    // A dialect whose streams cannot resume has no message ids by which an agent could deduplicate.
    deduplicates: () => deduplicates ?? ((numbersEvents || declaresIdempotency(card())) && !cannotResume()),
    streams: () => streams ?? card().capabilities.streaming === true,
    cannotResume,
    update(facts) {
      numbersEvents = facts.numbersEvents ?? numbersEvents
      streams = facts.streams ?? streams
    },
  }
}

/** Gives every unary call a deadline and repeats it if that is safe. */
function retryInterceptor({ peer, clock, timeout, retry: backoff }: ResilienceOptions): Interceptor {
  return {
    async unary<O extends UnaryOperation>(
      operation: O,
      request: RequestOf<O>,
      caller: CallWithTimeout,
      next: UnaryNext<O>,
    ): Promise<ResultOf<O>> {
      const { call, release } = withTimeout(operation, caller, caller.timeout ?? timeout, clock)
      const attempt = () => next(request, call)
      const mayRetry = (error: A2AError) => isUnsent(error) || (isTransient(error) && isRepeatable(operation, peer))
      try {
        return await attempt().catch((error) =>
          retry(attempt, error, {
            backoff: retryBackoff(backoff),
            signal: call.signal,
            clock,
            mayRetry,
            untilAborted: backoff?.tries === undefined,
          }),
        )
      } catch (error) {
        const isUncertain =
          operation === 'sendMessage' && error instanceof A2AError && isTransient(error) && !mayRetry(error)
        throw isUncertain ? mayHaveRun(error) : error
      } finally {
        release()
      }
    },
  }
}

/** Informs the streams of tasks that are canceled. */
function cancelInterceptor(cancelListeners: CancelListeners): Interceptor {
  return {
    async cancelTask(request, call, next) {
      const task = await next(request, call)
      for (const onCancel of cancelListeners) onCancel(task.id)
      return task
    },
  }
}

/** Resumes broken streams, and polls agents that do not stream, by the calls of `service`. */
function resumeInterceptor(
  options: ResilienceOptions,
  service: Service,
  cancelListeners: CancelListeners,
): Interceptor {
  return {
    async *stream(operation, request, caller: CallWithTimeout, next) {
      const limit = caller.timeout ?? Number.POSITIVE_INFINITY
      const { call, release } = withTimeout(operation, caller, limit, options.clock)
      try {
        const open = (signal: AbortSignal) => next(request, { ...call, signal })
        yield* resumingStream({ ...options, service, request, call, open, cancelListeners })
        if (call.signal.reason instanceof A2AError) throw call.signal.reason
      } finally {
        release()
      }
    },
  }
}

function diagnoseInterceptor({ diagnose }: ResilienceOptions): Interceptor {
  return {
    async unary<O extends UnaryOperation>(
      _operation: O,
      request: RequestOf<O>,
      call: Call,
      next: UnaryNext<O>,
    ): Promise<ResultOf<O>> {
      try {
        return await next(request, call)
      } catch (error) {
        throw diagnose(error)
      }
    },
    async *stream(_operation, request, call, next) {
      try {
        yield* next(request, call)
      } catch (error) {
        throw diagnose(error)
      }
    },
  }
}

/** The call with a deadline. All attempts of a send share one idempotency key. */
function withTimeout(operation: Operation, caller: CallWithTimeout, limit: number, clock: Clock) {
  const { principal, headers, idempotencyKey, extensions } = caller
  const expired = () =>
    new A2AError('timeout', `There was no answer within ${limit / 1000} seconds.`, { reason: 'deadline' })
  const { signal, release } = withDeadline(caller.signal, limit, expired, clock)
  const isSend = operation === 'sendMessage' || operation === 'streamMessage'
  const call: Call = {
    principal,
    signal,
    headers,
    extensions,
    idempotencyKey: idempotencyKey ?? (isSend ? newId() : undefined),
    deadline: Number.isFinite(limit) ? clock.now() + limit : undefined,
  }
  return { call, release }
}
