import type { Clock } from '../../base/clock.ts'
import { type Logger, TaskLogger } from '../../base/logger.ts'
import type { Telemetry } from '../../protocol/telemetry.ts'
import type { TaskLog } from '../../tasks/log.ts'
import type { PushSettings } from '../options.ts'
import type { PushLease, PushStore, StoredWebhook, WebhookKey } from '../store.ts'
import { createCheckpoints, nameOf } from './checkpoints.ts'
import { createDeliverySlots } from './concurrency.ts'
import { type DeliveryContext, deliverWebhook } from './deliver-webhook.ts'
import type { PayloadEncoder } from './payload.ts'

/** How often to look for webhooks that nobody sees to, in milliseconds. */
const rhythm = 1_000

const batch = 500

export interface DelivererOptions {
  readonly log: TaskLog
  readonly store: PushStore
  readonly telling: PayloadEncoder
  readonly settings: PushSettings
  readonly logger: Logger
  readonly holder: string
  readonly clock: Clock
  readonly isBusy: () => boolean
  readonly telemetry?: Telemetry | undefined
}

/** Sees to all webhooks that this process can get hold of. */
export interface Deliverer {
  /** With which webhooks are to be added, so that nobody else takes them first; none if there are enough. */
  lease(): PushLease | undefined
  /** Sees to a webhook that was added with the lease. */
  adopt(stored: StoredWebhook): void
  /** How many it sees to. */
  size(): number
  /** Before a webhook is changed: what was delivered so far is written down, so as not to be sent once more. */
  flush(): Promise<void>
  /** It was changed: whoever sees to it here begins anew. */
  reconsider(key: WebhookKey): void
  /** Lets requests that are on their way finish until the deadline (milliseconds), and gives all webhooks back. */
  close(deadline: number): Promise<void>
}

export function createDeliverer(options: DelivererOptions): Deliverer {
  const { log, store, telling, settings, logger, holder, clock, telemetry } = options
  const { leaseTtl, concurrency } = settings
  const lease = { holder, ttl: leaseTtl }
  const ledger = createCheckpoints({ store, lease, logger, clock })
  const hurry = new AbortController()
  const lanes = createDeliverySlots({ ...concurrency, isBusy: options.isBusy })
  const shared = { log, store, telling, lanes, ledger, settings, logger, clock, telemetry }
  const office: DeliveryContext = { ...shared, hurry: hurry.signal }
  const couriers = new Map<string, Courier>()
  let isClosed = false
  let isLooking = false
  let isNudged = false

  function start(stored: StoredWebhook): void {
    const name = nameOf(stored)
    const leaving = new AbortController()
    const { taskId, webhook } = stored
    const told = new TaskLogger(logger, { taskId, contextId: webhook.contextId }, webhook.trace)
    ledger.open(stored, () => leaving.abort())
    const done = deliverWebhook(stored, office, leaving.signal)
      .catch((error) => told.error({ error }, 'a webhook could not be seen to; it is tried again'))
      .then(() => ledger.close(stored))
      .catch((error) => told.error({ error }, 'a webhook could not be given back'))
      .finally(() => {
        couriers.delete(name)
        if (leaving.signal.aborted) void look()
      })
    couriers.set(name, { done, leave: () => leaving.abort() })
  }

  const room = () => concurrency.webhooks - couriers.size

  async function look(): Promise<void> {
    if (isLooking || isClosed) {
      isNudged = true
      return
    }
    isLooking = true
    try {
      do {
        isNudged = false
        const limit = Math.min(batch, room())
        const claimed = limit > 0 ? await store.claim(lease, limit) : []
        for (const stored of claimed) if (!couriers.has(nameOf(stored))) start(stored)
        if (claimed.length === batch) isNudged = true
      } while (isNudged && !isClosed)
    } catch (error) {
      logger.error({ error }, 'the search for webhooks that are due failed; it is tried again')
    } finally {
      isLooking = false
    }
  }

  async function renew(): Promise<void> {
    try {
      if (ledger.size > 0) await ledger.renew()
    } catch (error) {
      logger.error({ error }, 'the leases of webhooks could not be renewed; it is tried again')
    }
  }

  const timers = [clock.setInterval(look, rhythm), clock.setInterval(renew, Math.min(leaseTtl / 6, 5_000))]
  for (const timer of timers) if (typeof timer === 'object') timer.unref?.() // others keep the process alive
  void look()

  return {
    lease: () => (isClosed || room() <= 0 ? undefined : lease),
    adopt(stored) {
      if (!isClosed) start(stored)
    },
    size: () => couriers.size,
    flush: ledger.flush,
    reconsider(key) {
      const courier = couriers.get(nameOf(key))
      if (courier) courier.leave()
      else void look()
    },
    async close(deadline) {
      isClosed = true
      for (const timer of timers) clock.clearTimeout(timer)
      const late = clock.setTimeout(() => hurry.abort(new Error('this process stops')), deadline)
      const all = [...couriers.values()]
      for (const { leave } of all) leave()
      await Promise.all(all.map(({ done }) => done))
      clock.clearTimeout(late)
    },
  }
}

interface Courier {
  readonly done: Promise<void>
  readonly leave: () => void
}
