import { delayAfter } from '../base/backoff.ts'
import { sleep, systemClock } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import type { Trace } from '../base/trace-context.ts'
import { type PollSettings, poll, sendAndPoll } from '../client/resilience/poll.ts'
import { createTaskDiff } from '../client/resilience/task-diff.ts'
import { v1_0Client } from '../dialects/v1.0/client.ts'
import type { MeshLink } from '../mesh/link.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Principal } from '../protocol/model.ts'
import type { Call, RequestOf, ResultOf, Service } from '../protocol/service.ts'
import { isEnded } from '../protocol/states.ts'
import { isOfMesh, toA2AError } from './errors.ts'
import { type BridgedMethod, type BridgedOperation, operations } from './methods.ts'

/** How often in a row a look may fail. */
const tries = 5

const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['unavailable', 'timeout', 'rate-limited'])

/** Milliseconds for which a reader is left without a word because the peer says so. */
const longestWait = 30_000

export interface LookOptions {
  /** Milliseconds between two looks at a task, at first and at last. */
  readonly minDelay?: number
  readonly maxDelay?: number
}

/** A way to the peer, or each caller's own: to the peer, whoever signs is who asks. */
export type LinkOf = MeshLink | ((principal: Principal) => MeshLink)

export interface MeshServiceOptions extends LookOptions {
  readonly link: LinkOf
}

/**
 * A peer that has the methods of A2A (`a2aMethods`) as a service, as if it were here. The mesh has no streams: they are
 * told by looking again and again.
 */
export function meshService({ link, ...options }: MeshServiceOptions): Service {
  async function ask<O extends BridgedOperation>(
    operation: O,
    request: RequestOf<O>,
    { principal, signal, trace, idempotencyKey }: Call,
  ): Promise<ResultOf<O>> {
    const encoded = v1_0Client.encodeRequest[operation](request) as JsonObject
    const isKeyed = operation === 'sendMessage' && idempotencyKey !== undefined
    const parameters = isKeyed ? { ...encoded, idempotencyKey } : encoded
    const data = await requested(linkFor(link, principal), methodOf[operation], { parameters, signal, trace })
    return v1_0Client.decodeResult[operation](data, request)
  }

  const service: Service = {
    sendMessage: (request, call) => ask('sendMessage', request, call),
    getTask: (request, call) => ask('getTask', request, call),
    listTasks: (request, call) => ask('listTasks', request, call),
    cancelTask: (request, call) => ask('cancelTask', request, call),
    streamMessage: (request, call) =>
      differences(sendAndPoll(looking.service, request, call, { ...looking, onAnswer() {}, onPoll() {} })),
    async *subscribeToTask(request, call) {
      const task = await service.getTask(request, call)
      if (isEnded(task.status.state) && !request.includeEnded) {
        throw new A2AError('unsupported-operation', `Task ${task.id} has ended: get it instead of following it.`)
      }
      yield* differences(poll(looking.service, request.taskId, call, looking))
    },
    createPushConfig: noPush,
    getPushConfig: noPush,
    listPushConfigs: noPush,
    deletePushConfig: noPush,
    async getExtendedCard() {
      throw new A2AError('unsupported-operation', 'The mesh has no extended cards.')
    },
  }
  const looking = pollTask(service, options)
  return service
}

export interface Requested {
  readonly parameters: JsonObject
  readonly signal: AbortSignal
  readonly trace: Trace | undefined
}

/** What a method gives; why it does not, as A2A says it. */
export async function requested(
  link: MeshLink,
  method: string,
  { parameters, signal, trace }: Requested,
): Promise<JsonObject> {
  try {
    return await link.request(method, parameters, { signal, trace })
  } catch (error) {
    throw isOfMesh(error) ? toA2AError(error) : error
  }
}

export function linkFor(link: LinkOf, principal: Principal): MeshLink {
  return typeof link === 'function' ? link(principal) : link
}

const methodOf = Object.fromEntries(
  Object.entries(operations).map(([name, operation]) => [operation, name]),
) as Readonly<Record<BridgedOperation, BridgedMethod>>

/** What a stream says of a task that is looked at again and again: the task at first, and then what has changed. */
async function* differences(looks: AsyncGenerator<StreamEvent>): AsyncGenerator<StreamEvent> {
  const seen = createTaskDiff()
  for await (const look of looks) {
    for (const event of look.type === 'task' ? seen.missingEvents(look.task) : [look]) {
      seen.record(event)
      yield event.type === 'status' ? { ...event, isLast: rests(event) } : event
    }
  }
}

/** Where looking ends. */
function rests({ status }: Extract<StreamEvent, { type: 'status' }>): boolean {
  return isEnded(status.state) || status.state === 'input-required'
}

async function noPush(): Promise<never> {
  throw new A2AError('push-not-supported', 'The mesh has no webhooks: get the task instead.')
}

/** How a service is looked at: a look that fails for a while ends nobody's stream. */
function pollTask(service: Service, { minDelay = 100, maxDelay = 2_000 }: LookOptions) {
  const looking: PollSettings = { minDelay, maxDelay, clock: systemClock }
  const getTask: Service['getTask'] = async (request, call) => {
    for (let failures = 1; ; failures++) {
      try {
        return await service.getTask(request, call)
      } catch (error) {
        const passes = error instanceof A2AError && passing.has(error.code) && failures < tries
        if (!passes || call.signal.aborted) throw error
        const asked = (error.retryAfter ?? 0) * 1_000
        if (asked > longestWait) throw error
        await sleep(Math.max(asked, delayAfter(failures, looking)), call.signal, looking.clock)
      }
    }
  }
  return { ...looking, service: { ...service, getTask } }
}
