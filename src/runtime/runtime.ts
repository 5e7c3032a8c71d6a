import { linkSignals } from '../base/abort.ts'
import type { Clock } from '../base/clock.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Principal } from '../protocol/model.ts'
import { ownerOf } from '../protocol/principal.ts'
import type { Call, Operation, Service, TaskAddress } from '../protocol/service.ts'
import type { PushAdmin } from '../push/admin.ts'
import { createPush } from '../push/push.ts'
import { CallerLog } from './caller-log.ts'
import { cancelTask } from './operations/cancel-task.ts'
import type { OperationContext } from './operations/context.ts'
import { type Erased, type EraseRequest, erase } from './operations/erase.ts'
import { createPushOperations } from './operations/push-configs.ts'
import { getTask, listTasks } from './operations/read-tasks.ts'
import { sendMessage } from './operations/send-message.ts'
import { streamMessage, subscribeToTask } from './operations/stream-message.ts'
import { type RuntimeOptions, withDefaults } from './options.ts'
import { startMaintenance } from './recovery/maintenance.ts'
import { createRuns } from './turns/runs.ts'

/** How long requests to webhooks may take to finish when the server goes, in milliseconds. */
const lastRequests = 2_000

/** Of this process. */
export interface RuntimeGauges {
  /** Tasks at work, each with its lease. */
  readonly runs: () => number
  /** Messages that wait for them. */
  readonly queued: () => number
  /** Webhooks that are seen to. */
  readonly webhooks: () => number
}

/** The operations of A2A over a task log, and the agent that answers. */
export interface Runtime {
  readonly service: Service
  /** The dialect in which the owner of a task last wrote to it. */
  readonly lastDialect: (address: TaskAddress, principal: Principal) => Promise<string | undefined>
  /** What is pushed, if anything is. */
  readonly push: PushAdmin | undefined
  /** What is being done, for those who count it. */
  readonly gauges: RuntimeGauges
  /** Removes tasks with all that belongs to them, at once and for good; tells what it removed. */
  erase(request: EraseRequest): Promise<Erased>
  /** Takes no new work, lets turns finish until the deadline (milliseconds), then ends turns and streams. */
  drain(deadline: number): Promise<void>
}

export function createRuntime(options: RuntimeOptions): Runtime {
  const settings = withDefaults(options)
  const { log, policy, logger, holder, clock, telemetry } = settings
  const runs = createRuns(settings)
  const push =
    settings.push &&
    createPush({ log, options: settings.push, logger, holder, clock, isBusy: () => runs.size > 0, telemetry })
  const upkeep = startMaintenance(settings, runs, push)

  const closing = new AbortController()

  function logOf(principal: Principal, operation: Operation): CallerLog {
    const owner = ownerOf(principal)
    const also = policy?.(principal, operation)
    return new CallerLog(log, also === undefined ? { owner } : { owner, also })
  }

  function houseOf({ principal }: Call, operation: Operation): OperationContext {
    return { settings, runs, push, log: logOf(principal, operation), closing: closing.signal }
  }

  let isDraining = false

  function closed(): A2AError {
    return new A2AError('unavailable', 'The server is shutting down: try again.', { retryAfter: 1 })
  }

  /** A stream that also ends, cleanly, when the server goes, or its reader's credentials expire; it can be resumed. */
  async function* until<T extends StreamEvent>(call: Call, open: (call: Call) => AsyncGenerator<T>) {
    const { signal, release } = linkSignals([call.signal, closing.signal], timeLeft(call.principal, clock), clock)
    try {
      yield* open({ ...call, signal })
    } finally {
      release()
    }
  }

  const service: Service = {
    async sendMessage(request, call) {
      if (isDraining) throw closed()
      return await sendMessage(request, call, houseOf(call, 'sendMessage'))
    },
    async *streamMessage(request, call) {
      if (isDraining) throw closed()
      yield* until(call, (linked) => streamMessage(request, linked, houseOf(call, 'streamMessage'), call.signal))
    },
    getTask: async (request, { principal }) => await getTask(request, logOf(principal, 'getTask')),
    listTasks: async (request, { principal }) => await listTasks(request, logOf(principal, 'listTasks')),
    cancelTask: async (request, call) => await cancelTask(request, call, houseOf(call, 'cancelTask')),
    async *subscribeToTask(request, call) {
      const log = logOf(call.principal, 'subscribeToTask')
      yield* until(call, (linked) => subscribeToTask(request, linked, log))
    },
    ...createPushOperations(push, (call, operation) => logOf(call.principal, operation)),
    async getExtendedCard() {
      throw new A2AError('unsupported-operation', 'This agent has no extended card: its public card says it all.')
    },
  }

  return {
    service,
    push: push?.admin,
    gauges: { runs: () => runs.size, queued: () => runs.queued, webhooks: () => push?.size() ?? 0 },
    async lastDialect(address, principal) {
      const head = await logOf(principal, 'getTask').find(address)
      return head?.dialect
    },
    erase: (request) => erase(request, { log, runs, push }),
    async drain(deadline) {
      isDraining = true
      upkeep.stop()
      await runs.drain(deadline)
      closing.abort('closing')
      await push?.close(Math.min(deadline, lastRequests))
    },
  }
}

/** Until its credentials expire, if timers can be set for that: those of many weeks can not. */
function timeLeft({ expires }: Principal, clock: Clock): number | undefined {
  const left = expires === undefined ? Number.POSITIVE_INFINITY : expires - clock.now()
  return left < 2 ** 31 ? Math.max(left, 0) : undefined
}
