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
  track(stored: StoredWebhook, onLost: () => void): Checkpoint
  /** Writes all recorded progress. */
  flush(): Promise<void>
  /** Renews all leases. */
  renew(): Promise<void>
  /** The number of tracked webhooks. */
  readonly size: number
}

/** The progress of one webhook. */
export interface Checkpoint {
  /** Records the progress, to be written soon. */
  record(webhook: Webhook): void
  /** Whether the lease lasts for at least this many milliseconds. */
  isHeld(milliseconds: number): boolean
  /** Writes the recorded progress and releases the lease. */
  release(): Promise<void>
}

export function createCheckpoints({ store, lease, logger, clock }: CheckpointsOptions): Checkpoints {
  const { holder, ttl } = lease
  const tracked = new Map<string, TrackedWebhook>()
  let unwritten = new Set<TrackedWebhook>()
  let unreleased: TrackedWebhook[] = []
  let releasing: Promise<void> | undefined
  let isScheduled = false
  /** Serialises calls to the store, so that the revisions are known. */
  let queue: Promise<unknown> = Promise.resolve()

  function enqueue<T>(job: () => Promise<T>): Promise<T> {
    const done = queue.then(job)
    queue = done.catch(() => {})
    return done
  }

  const isTracked = (webhook: TrackedWebhook): boolean => tracked.get(webhook.name) === webhook

  function drop(key: WebhookKey): void {
    const name = serializeKey(key)
    const lost = tracked.get(name)
    tracked.delete(name)
    lost?.onLost()
  }

  async function writeAll(): Promise<void> {
    const all = [...unwritten]
    unwritten = new Set()
    for (const batch of batchesOf(all)) await writeBatch(batch)
  }

  async function writeBatch(batch: readonly TrackedWebhook[]): Promise<void> {
    const held = batch.filter(isTracked)
    try {
      const refused = await store.settle(holder, held.map(settledOf))
      for (const webhook of held) webhook.stored = { ...webhook.stored, revision: webhook.stored.revision + 1 }
      for (const key of refused) drop(key)
    } catch (error) {
      for (const webhook of held) unwritten.add(webhook)
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

  /** Releases all leases that are no longer needed by now, in one write or two. */
  async function releaseAll(): Promise<void> {
    releasing = undefined
    const all = unreleased
    unreleased = []
    await Promise.all(batchesOf(all).map(releaseBatch))
  }

  async function releaseBatch(batch: readonly TrackedWebhook[]): Promise<void> {
    const changed: TrackedWebhook[] = []
    const unchanged: WebhookKey[] = []
    for (const webhook of batch) {
      const isHeld = isTracked(webhook)
      if (isHeld) tracked.delete(webhook.name)
      if (unwritten.delete(webhook) && isHeld) changed.push(webhook)
      else unchanged.push(webhook.stored)
    }
    const settled = changed.map((webhook) => ({ ...settledOf(webhook), isReleased: true }))
    const refused = settled.length > 0 ? await store.settle(holder, settled) : []
    const keys = [...unchanged, ...refused]
    if (keys.length > 0) await store.release(holder, keys)
  }

  async function renewAll(): Promise<void> {
    for (const batch of batchesOf([...tracked.values()])) {
      const renewedAt = performance.now()
      const lost = await store.renew(
        lease,
        batch.map(({ stored }) => stored),
      )
      for (const webhook of batch) webhook.renewedAt = renewedAt
      for (const key of lost) drop(key)
    }
  }

  return {
    get size() {
      return tracked.size
    },
    track(stored, onLost) {
      const name = serializeKey(stored)
      const webhook: TrackedWebhook = { name, stored, webhook: stored.webhook, renewedAt: performance.now(), onLost }
      tracked.set(name, webhook)
      return {
        record(changed) {
          if (!isTracked(webhook)) return
          webhook.webhook = changed
          unwritten.add(webhook)
          scheduleWrite()
        },
        isHeld: (milliseconds) => isTracked(webhook) && performance.now() - webhook.renewedAt + milliseconds < ttl,
        release() {
          unreleased.push(webhook)
          releasing ??= enqueue(releaseAll)
          return releasing
        },
      }
    },
    // Without progress to write, a write may still be under way.
    flush: () => enqueue(async () => (unwritten.size > 0 ? await writeAll() : undefined)),
    renew: () => enqueue(renewAll),
  }
}

export function serializeKey({ taskId, owner, id }: WebhookKey): string {
  return JSON.stringify([taskId, owner, id])
}

interface TrackedWebhook {
  readonly name: string
  stored: StoredWebhook
  webhook: Webhook
  /** When the lease was last acquired or renewed, by the monotonic clock. */
  renewedAt: number
  readonly onLost: () => void
}

function settledOf({ stored, webhook }: TrackedWebhook): StoredWebhook {
  return { ...stored, webhook, due: dueOf(webhook) }
}

function batchesOf<T>(all: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / batchSize) }, (_, at) =>
    all.slice(at * batchSize, (at + 1) * batchSize),
  )
}
