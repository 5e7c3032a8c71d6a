import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { loggedError } from '../../protocol/errors.ts'
import type { PushLease, PushStore, StoredWebhook, Webhook, WebhookKey } from '../store.ts'
import { dueOf } from './webhook-state.ts'

/** How long progress is collected before it is written, in milliseconds. */
const writeDelay = 50

const batchSize = 500

export interface CheckpointsOptions {
  readonly store: PushStore
  readonly lease: PushLease
  readonly logger: Logger
  readonly clock: Clock
}

/**
 * The progress of the webhooks that this process leases, written to the store in batches. Only the newest state of each
 * is written, so a busy webhook costs a few writes per second; after a crash, the events since the last write are sent
 * again.
 */
export interface Checkpoints {
  /** Tracks a leased webhook. `onLost` is called when its lease is lost or it was edited. */
  track(stored: StoredWebhook, onLost: () => void): void
  /** Records the progress of a webhook, to be written soon. */
  record(key: WebhookKey, webhook: Webhook): void
  /** Writes all recorded progress. */
  flush(): Promise<void>
  /** Writes the recorded progress of a webhook and releases its lease. */
  release(key: WebhookKey): Promise<void>
  /** Whether the lease lasts for at least this many milliseconds. */
  isHeld(key: WebhookKey, milliseconds: number): boolean
  /** Renews all leases. */
  renew(): Promise<void>
  /** The number of tracked webhooks. */
  readonly size: number
}

export function createCheckpoints({ store, lease, logger, clock }: CheckpointsOptions): Checkpoints {
  const { holder, ttl } = lease
  const checkpoints = new Map<string, Checkpoint>()
  let unwritten = new Set<Checkpoint>()
  let isScheduled = false
  /** Serialises calls to the store, so that the revisions are known. */
  let queue: Promise<unknown> = Promise.resolve()

  function enqueue<T>(job: () => Promise<T>): Promise<T> {
    const done = queue.then(job)
    queue = done.catch(() => {})
    return done
  }

  function drop(key: WebhookKey): void {
    const name = serializeKey(key)
    const checkpoint = checkpoints.get(name)
    checkpoints.delete(name)
    checkpoint?.onLost()
  }

  async function writeAll(): Promise<void> {
    const all = [...unwritten]
    unwritten = new Set()
    for (let at = 0; at < all.length; at += batchSize) await writeBatch(all.slice(at, at + batchSize))
  }

  async function writeBatch(batch: readonly Checkpoint[]): Promise<void> {
    const held = batch.filter((checkpoint) => checkpoints.get(serializeKey(checkpoint.stored)) === checkpoint)
    const settled = held.map(({ stored, webhook }) => ({ ...stored, webhook, due: dueOf(webhook) }))
    try {
      const refused = await store.settle(holder, settled)
      for (const checkpoint of held) {
        checkpoint.stored = { ...checkpoint.stored, revision: checkpoint.stored.revision + 1 }
      }
      for (const key of refused) drop(key)
    } catch (error) {
      for (const checkpoint of held) unwritten.add(checkpoint)
      throw error
    }
  }

  function scheduleWrite(): void {
    if (isScheduled) return
    isScheduled = true
    clock.setTimeout(async () => {
      isScheduled = false
      try {
        await enqueue(writeAll)
      } catch (error) {
        logger.error({ error: loggedError(error) }, 'failed to save webhook progress; will retry')
        if (unwritten.size > 0) clock.setTimeout(scheduleWrite, 1_000)
      }
    }, writeDelay)
  }

  async function renewAll(): Promise<void> {
    const all = [...checkpoints.values()]
    for (let at = 0; at < all.length; at += batchSize) {
      const batch = all.slice(at, at + batchSize)
      const renewedAt = performance.now()
      const lost = await store.renew(
        lease,
        batch.map(({ stored }) => stored),
      )
      for (const checkpoint of batch) checkpoint.renewedAt = renewedAt
      for (const key of lost) drop(key)
    }
  }

  return {
    get size() {
      return checkpoints.size
    },
    track(stored, onLost) {
      const { webhook } = stored
      checkpoints.set(serializeKey(stored), { stored, webhook, renewedAt: performance.now(), onLost })
    },
    record(key, webhook) {
      const checkpoint = checkpoints.get(serializeKey(key))
      if (!checkpoint) return
      checkpoint.webhook = webhook
      unwritten.add(checkpoint)
      scheduleWrite()
    },
    isHeld(key, milliseconds) {
      const checkpoint = checkpoints.get(serializeKey(key))
      return checkpoint !== undefined && performance.now() - checkpoint.renewedAt + milliseconds < ttl
    },
    async release(key) {
      await enqueue(async () => {
        const name = serializeKey(key)
        const checkpoint = checkpoints.get(name)
        checkpoints.delete(name)
        if (!checkpoint || !unwritten.delete(checkpoint)) return await store.release(holder, [key])
        const { stored, webhook } = checkpoint
        const refused = await store.settle(holder, [{ ...stored, webhook, due: dueOf(webhook), isReleased: true }])
        if (refused.length > 0) await store.release(holder, [key])
      })
    },
    flush: () => (unwritten.size > 0 ? enqueue(writeAll) : Promise.resolve()),
    renew: () => enqueue(renewAll),
  }
}

export function serializeKey({ taskId, owner, id }: WebhookKey): string {
  return JSON.stringify([taskId, owner, id])
}

interface Checkpoint {
  stored: StoredWebhook
  webhook: Webhook
  /** When the lease was last acquired or renewed, by the monotonic clock. */
  renewedAt: number
  readonly onLost: () => void
}
