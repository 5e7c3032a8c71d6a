import { delayAfter } from '../../core/base/backoff.ts'
import { sleep, systemClock } from '../../core/base/clock.ts'
import type { JsonObject } from '../../core/base/json.ts'
import { aFunction, anyOf, checkOptions, having, milliseconds, type OptionCheck } from '../../core/base/options.ts'
import type { Trace } from '../../core/base/trace-context.ts'
import { type PollSettings, poll, sendAndPoll } from '../../core/client/resilience/poll.ts'
import { createTaskDiff } from '../../core/client/resilience/task-diff.ts'
import { v1_0Client } from '../../core/dialects/v1.0/client.ts'
import { A2AError, type ErrorCode } from '../../core/protocol/errors.ts'
import type { StreamEvent } from '../../core/protocol/events.ts'
import { intercept, type UnaryInterceptor } from '../../core/protocol/intercept.ts'
import type { Principal } from '../../core/protocol/model.ts'
import type { Call, RequestOf, ResultOf, Service } from '../../core/protocol/service.ts'
import { isEnded } from '../../core/protocol/states.ts'
import type { MeshLink } from '../link.ts'
import { isMeshError, toA2AError } from './errors.ts'
import { type BridgedMethod, type BridgedOperation, operations } from './methods.ts'

/** Consecutive polling failures before a stream fails. */
const maxFailures = 5

const transientCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['unavailable', 'timeout', 'rate-limited'])

/** Longest delay that a peer may request before polling fails, in milliseconds. */
const maxRetryAfter = 30_000

export interface PollOptions {
  /** Initial polling interval in milliseconds. Defaults to 100. */
  readonly minDelay?: number
  /** Longest polling interval in milliseconds. Defaults to 2,000. */
  readonly maxDelay?: number
}

/** A link to the peer, or a function that returns one per caller: the peer identifies callers by their signature. */
export type LinkSource = MeshLink | ((principal: Principal) => MeshLink)

export const linkCheck: OptionCheck = anyOf(
  'a link such as peer.link(…), or a function that returns one',
  aFunction,
  having('', 'request'),
)

/** Options of `meshService`. */
export interface MeshServiceOptions extends PollOptions {
  readonly link: LinkSource
}

/** Wraps a peer that has the A2A methods (`a2aMethods`) as a service. Streams are polled, because the mesh has none. */
export function meshService(options: MeshServiceOptions): Service {
  const checks = { link: linkCheck, minDelay: milliseconds(), maxDelay: milliseconds() }
  checkOptions('meshService', options, checks, ['link'])
  const { link, minDelay = 100, maxDelay = 2_000 } = options
  async function invoke<O extends BridgedOperation>(
    operation: O,
    request: RequestOf<O>,
    { principal, signal, trace, idempotencyKey }: Call,
  ): Promise<ResultOf<O>> {
    const encoded = v1_0Client.encodeRequest[operation](request) as JsonObject
    const isKeyed = operation === 'sendMessage' && idempotencyKey !== undefined
    const parameters = isKeyed ? { ...encoded, idempotencyKey } : encoded
    const data = await callPeer(linkFor(link, principal), methodOf[operation], { parameters, signal, trace })
    return v1_0Client.decodeResult[operation](data, request)
  }

  const polling: PollSettings = { minDelay, maxDelay, clock: systemClock }
  const service: Service = {
    sendMessage: (request, call) => invoke('sendMessage', request, call),
    getTask: (request, call) => invoke('getTask', request, call),
    listTasks: (request, call) => invoke('listTasks', request, call),
    cancelTask: (request, call) => invoke('cancelTask', request, call),
    streamMessage: (request, call) =>
      changesOf(sendAndPoll(polledService, request, call, { ...polling, onAnswer() {}, onPoll() {} })),
    async *subscribeToTask(request, call) {
      const task = await service.getTask(request, call)
      if (isEnded(task.status.state) && !request.includeEnded) {
        throw new A2AError('unsupported-operation', `Task ${task.id} has ended: get it instead of following it.`)
      }
      yield* changesOf(poll(polledService, request.taskId, call, polling))
    },
    createPushConfig: noPush,
    getPushConfig: noPush,
    listPushConfigs: noPush,
    deletePushConfig: noPush,
    async getExtendedCard() {
      throw new A2AError('unsupported-operation', 'The mesh has no extended cards.')
    },
  }
  const polledService = withRetries(service, polling)
  return service
}

export interface PeerCallOptions {
  readonly parameters: JsonObject
  readonly signal: AbortSignal
  readonly trace: Trace | undefined
}

/** Calls a method; throws mesh errors as A2A errors. */
export async function callPeer(
  link: MeshLink,
  method: string,
  { parameters, signal, trace }: PeerCallOptions,
): Promise<JsonObject> {
  try {
    return await link.request(method, parameters, { signal, trace })
  } catch (error) {
    throw isMeshError(error) ? toA2AError(error) : error
  }
}

export function linkFor(link: LinkSource, principal: Principal): MeshLink {
  return typeof link === 'function' ? link(principal) : link
}

const methodOf = Object.fromEntries(
  Object.entries(operations).map(([name, operation]) => [operation, name]),
) as Readonly<Record<BridgedOperation, BridgedMethod>>

/** Turns polled tasks into stream events: first the task, then its changes. */
async function* changesOf(polled: AsyncGenerator<StreamEvent>): AsyncGenerator<StreamEvent> {
  const diff = createTaskDiff()
  for await (const current of polled) {
    for (const event of current.type === 'task' ? diff.missingEvents(current.task) : [current]) {
      diff.record(event)
      yield event.type === 'status' ? { ...event, isLast: isPollingOver(event) } : event
    }
  }
}

function isPollingOver({ status }: Extract<StreamEvent, { type: 'status' }>): boolean {
  return isEnded(status.state) || status.state === 'input-required'
}

async function noPush(): Promise<never> {
  throw new A2AError('push-not-supported', 'The mesh has no webhooks: get the task instead.')
}

/** Retries transient failures of `getTask`, so that they do not end a polled stream. */
function withRetries(service: Service, polling: PollSettings): Service {
  const getTask: UnaryInterceptor<'getTask'> = async (request, call, next) => {
    for (let failures = 1; ; failures++) {
      try {
        return await next(request, call)
      } catch (error) {
        const isTransient = error instanceof A2AError && transientCodes.has(error.code)
        if (!isTransient || failures >= maxFailures || call.signal.aborted) throw error
        const retryAfter = (error.retryAfter ?? 0) * 1_000
        if (retryAfter > maxRetryAfter) throw error
        await sleep(Math.max(retryAfter, delayAfter(failures, polling)), call.signal, polling.clock)
      }
    }
  }
  return intercept(service, [{ getTask }])
}
