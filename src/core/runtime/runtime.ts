import type { RecoveryPolicy } from '../agent/agent.ts'
import { A2AError, loggedError } from '../protocol/errors.ts'
import { ownerOf, type Principal } from '../protocol/model.ts'
import type { Call, Operation, Service, TaskAddress } from '../protocol/service.ts'
import type { PushAdmin } from '../push/admin.ts'
import { createPush } from '../push/push.ts'
import type { TaskLog } from '../tasks/log.ts'
import { CallerLog, type OperationContext } from './caller-log.ts'
import { createOpenStreams } from './open-streams.ts'
import { cancelTask } from './operations/cancel-task.ts'
import { type Erased, type EraseRequest, erase } from './operations/erase.ts'
import { createLongPolls } from './operations/long-polls.ts'
import { createPushOperations } from './operations/push-configs.ts'
import { getTask, listTasks } from './operations/read-tasks.ts'
import { sendMessage } from './operations/send-message.ts'
import { streamMessage, subscribeToTask } from './operations/stream-message.ts'
import { type RuntimeOptions, withDefaults } from './options.ts'
import { startMaintenance } from './recovery/maintenance.ts'
import { createRuns } from './turns/leased-runs.ts'

/** Milliseconds that requests to webhooks may take to finish when the server shuts down. */
const webhookDrain = 2_000

/** The A2A operations of one agent, over a task log. */
export interface Runtime {
  readonly service: Service
  /** The dialect of the last message of a task. */
  readonly lastDialect: (address: TaskAddress, principal: Principal) => Promise<string | undefined>
  /** Undefined if the agent sends no push notifications. */
  readonly push: PushAdmin | undefined
  readonly gauges: RuntimeGauges
  /** What happens to turns whose process is gone. */
  readonly recovery: RecoveryPolicy
  /** Rejects if the log belongs to another agent. Then every operation fails. */
  readonly reserved: Promise<void>
  /** Removes tasks with everything that belongs to them, and returns what it removed. */
  erase(request: EraseRequest): Promise<Erased>
  /**
   * Accepts no new messages and still answers reads. Lets turns finish for `deadline` milliseconds, then ends turns and
   * streams. Stopped turns may take another `endWithin` milliseconds, by default `cancelGrace` and 2 seconds.
   */
  drain(deadline: number, endWithin?: number): Promise<void>
}

/** The current load of this process, for metrics. */
export interface RuntimeGauges {
  /** Tasks that run, each with a lease. */
  readonly runs: () => number
  /** Messages that wait for them. */
  readonly queued: () => number
  /** Webhooks that this process delivers to. */
  readonly webhooks: () => number
}

export function createRuntime(options: RuntimeOptions): Runtime {
  const settings = withDefaults(options)
  const { log, policy, logger, holder, clock, telemetry } = settings
  const reserved = Promise.resolve(log.reserveFor?.(settings.agent.profile.name))
  reserved.catch((error) => logger.error({ error: loggedError(error) }, 'the task log cannot be used'))
  const closing = new AbortController()
  const streams = createOpenStreams(closing.signal, clock)
  const runs = createRuns(settings, streams)
  const push =
    settings.push &&
    createPush({ log, options: settings.push, logger, holder, clock, isBusy: () => runs.size > 0, telemetry })
  const longPolls = createLongPolls({ clock, closing: closing.signal, blockFor: settings.blockFor })
  const maintenance = startMaintenance({ settings, runs, push, streams })
  let isDraining = false

  function logOf(principal: Principal, operation: Operation, source: TaskLog = log): CallerLog {
    const owner = ownerOf(principal)
    const also = policy?.(principal, operation)
    return new CallerLog(source, also === undefined ? { owner } : { owner, also })
  }

  /** For operations that only read. Their callers may see what is a little old, but never older than what they have seen. */
  const copied: TaskLog = log.replica ? { ...log, ...log.replica } : log
  /** The same for streams, whose callers name the last event that they have seen: the head must have it. */
  const followed: TaskLog = log.replica ? { ...copied, head: log.head } : log

  function contextOf({ principal }: Call, operation: Operation): OperationContext {
    return { settings, runs, push, log: logOf(principal, operation), closing: closing.signal }
  }

  const service: Service = {
    // Not async: the promise of the operation is handed on without waiting for it.
    sendMessage(request, call) {
      if (isDraining) return Promise.reject(closed())
      return sendMessage(request, call, contextOf(call, 'sendMessage'))
    },
    streamMessage: (request, call) =>
      streams.open(call, (linked, stream) => {
        if (isDraining) throw closed()
        return streamMessage(request, linked, { ...contextOf(call, 'streamMessage'), stream })
      }),
    async getTask(request, call) {
      if (request.afterRevision === undefined) return await getTask(request, logOf(call.principal, 'getTask', copied))
      const callerLog = logOf(call.principal, 'getTask')
      await longPolls.wait(request, call, callerLog)
      return await getTask(request, callerLog)
    },
    listTasks: async (request, call) => await listTasks(request, call, logOf(call.principal, 'listTasks', copied)),
    cancelTask: async (request, call) => await cancelTask(request, call, contextOf(call, 'cancelTask')),
    subscribeToTask: (request, call) =>
      streams.open(call, (linked, stream) =>
        subscribeToTask(request, linked, { log: logOf(call.principal, 'subscribeToTask', followed), stream }),
      ),
    ...createPushOperations(push, (call, operation) => logOf(call.principal, operation)),
    async getExtendedCard() {
      throw new A2AError('unsupported-operation', 'This agent has no extended card: its public card says it all.')
    },
  }

  return {
    service,
    push: push?.admin,
    reserved,
    recovery: settings.recovery.policy,
    gauges: { runs: () => runs.size, queued: () => runs.queued, webhooks: () => push?.size() ?? 0 },
    async lastDialect(address, principal) {
      const head = await logOf(principal, 'getTask').find(address)
      return head?.dialect
    },
    erase: (request) => erase(request, { log, runs, push }),
    async drain(deadline, endWithin) {
      isDraining = true
      maintenance.stop()
      await runs.drain(deadline, endWithin)
      await settings.usageLog?.flush()
      closing.abort('closing')
      await push?.close(Math.min(deadline, webhookDrain))
    },
  }
}

function closed(): A2AError {
  return new A2AError('unavailable', 'The server is shutting down: try again.', { retryAfter: 1 })
}
