import type { Clock } from '../../base/clock.ts'
import { type Logger, TaskLogger } from '../../base/logger.ts'
import { loggedError } from '../../protocol/errors.ts'
import type { Telemetry } from '../../protocol/telemetry.ts'
import type { TaskLog } from '../../tasks/log.ts'
import type { PushSettings } from '../options.ts'
import type { PushLease, PushStore, StoredWebhook, WebhookKey } from '../store.ts'
import { type Checkpoint, createCheckpoints, serializeKey } from './checkpoints.ts'
import { createDeliverySlots } from './concurrency.ts'
import { type DeliveryContext, deliverWebhook } from './deliver-webhook.ts'
import type { PayloadEncoder } from './payload.ts'

/** Interval at which due webhooks are claimed, in milliseconds. */
const claimInterval = 1_000

/** Maximum number of webhooks claimed in one call to the store. */
const claimLimit = 500

/**
 * Webhooks that may wait for a slot in memory, per slot. Further ones wait in the store, where they cost nothing and
 * other processes can claim them: the cursors of webhooks are the queue, and the log is what they queue for.
 */
const waitingPerSlot = 2

export interface DelivererOptions {
  readonly log: TaskLog
  readonly store: PushStore
  readonly encoder: PayloadEncoder
  readonly settings: PushSettings
  readonly logger: Logger
  readonly holder: string
  readonly clock: Clock
  readonly isBusy: () => boolean
  readonly telemetry?: Telemetry | undefined
}

/** Claims due webhooks and delivers to each until it has nothing left to send. */
export interface Deliverer {
  /** The lease to add new webhooks with, so that no other process claims them; undefined if they have to wait in the store. */
  lease(): PushLease | undefined
  /** Delivers to a webhook that was added with the lease. */
  start(stored: StoredWebhook): void
  /** The number of webhooks it delivers to. */
  size(): number
  /** Stores the progress of all webhooks. Called before a webhook is changed, so that no event is sent twice. */
  flush(): Promise<void>
  /** Restarts the delivery to a webhook that was changed. */
  restart(key: WebhookKey): void
  /** Waits up to `deadline` milliseconds for requests in flight, then aborts them, and releases all leases. */
  close(deadline: number): Promise<void>
}

export function createDeliverer(options: DelivererOptions): Deliverer {
  const { log, store, encoder, settings, logger, holder, clock, telemetry } = options
  const { leaseTtl, concurrency } = settings
  const lease = { holder, ttl: leaseTtl }
  const maxWaiting = waitingPerSlot * concurrency.total
  const checkpoints = createCheckpoints({ store, lease, logger, clock })
  const requests = new AbortController()
  const slots = createDeliverySlots({ ...concurrency, isBusy: options.isBusy })
  const shared = { log, store, encoder, slots, settings, logger, clock, telemetry }
  const context: DeliveryContext = { ...shared, requestSignal: requests.signal }
  const active = new Map<string, ActiveWebhook>()
  let isClosed = false
  let isClaiming = false
  let mustClaimAgain = false
  /** Whether the store may have due webhooks that this process had no capacity for. */
  let isStoreAhead = false

  function start(stored: StoredWebhook): void {
    const name = serializeKey(stored)
    const stopping = new AbortController()
    const checkpoint = checkpoints.track(stored, () => stopping.abort())
    const done = deliver(stored, checkpoint, stopping.signal).then(() => {
      active.delete(name)
      if (stopping.signal.aborted || (isStoreAhead && capacity() > maxWaiting / 2)) void claimDue()
    })
    active.set(name, { done, stop: () => stopping.abort() })
  }

  /** Delivers what there is, and releases the lease. Never rejects. */
  async function deliver(stored: StoredWebhook, checkpoint: Checkpoint, signal: AbortSignal): Promise<void> {
    const { taskId, webhook } = stored
    const logError = (error: unknown, message: string) => {
      const taskLogger = new TaskLogger(logger, { taskId, contextId: webhook.contextId }, webhook.trace)
      taskLogger.error({ error: loggedError(error) }, message)
    }
    try {
      await deliverWebhook(stored, checkpoint, context, signal)
    } catch (error) {
      logError(error, 'failed to deliver to a webhook; will retry')
    }
    try {
      await checkpoint.release()
    } catch (error) {
      logError(error, 'failed to release the lease of a webhook')
    }
  }

  /** How many more webhooks this process can take over now. */
  const capacity = () => Math.min(concurrency.webhooks - active.size, maxWaiting - slots.waiting())

  async function claimDue(): Promise<void> {
    if (isClaiming || isClosed) {
      mustClaimAgain = true
      return
    }
    isClaiming = true
    try {
      do {
        mustClaimAgain = false
        const limit = Math.min(claimLimit, capacity())
        if (limit <= 0) break
        const claimed = await store.claim(lease, limit)
        for (const stored of claimed) if (!active.has(serializeKey(stored))) start(stored)
        isStoreAhead = claimed.length === limit
      } while ((mustClaimAgain || isStoreAhead) && !isClosed)
    } catch (error) {
      logger.error({ error: loggedError(error) }, 'failed to claim due webhooks; will retry')
    } finally {
      isClaiming = false
    }
  }

  async function renew(): Promise<void> {
    try {
      if (checkpoints.size > 0) await checkpoints.renew()
    } catch (error) {
      logger.error({ error: loggedError(error) }, 'failed to renew the leases of webhooks; will retry')
    }
  }

  const timers = [clock.setInterval(claimDue, claimInterval), clock.setInterval(renew, Math.min(leaseTtl / 6, 5_000))]
  // Deliveries alone do not keep the process alive.
  for (const timer of timers) if (typeof timer === 'object') timer.unref?.()
  void claimDue()

  return {
    lease() {
      if (isClosed) return undefined
      if (capacity() > 0) return lease
      isStoreAhead = true
      return undefined
    },
    start(stored) {
      if (!isClosed) start(stored)
    },
    size: () => active.size,
    flush: checkpoints.flush,
    restart(key) {
      const running = active.get(serializeKey(key))
      if (running) running.stop()
      else void claimDue()
    },
    async close(deadline) {
      isClosed = true
      for (const timer of timers) clock.clearTimeout(timer)
      const timer = clock.setTimeout(() => requests.abort(new Error('the process is shutting down')), deadline)
      const running = [...active.values()]
      for (const { stop } of running) stop()
      await Promise.all(running.map(({ done }) => done))
      clock.clearTimeout(timer)
    },
  }
}

interface ActiveWebhook {
  readonly done: Promise<void>
  readonly stop: () => void
}
