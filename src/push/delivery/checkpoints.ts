import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { PushLease, PushStore, StoredWebhook, Webhook, WebhookKey } from '../store.ts'
import { dueOf } from './webhook-state.ts'

/** How long notes are gathered, in milliseconds. */
const gathering = 50

const batch = 500

export interface LedgerOptions {
  readonly store: PushStore
  readonly lease: PushLease
  readonly logger: Logger
  readonly clock: Clock
}

/**
 * What this process has come to with the webhooks that it leases, written down for all of them together. Only the
 * newest of each counts, so a busy webhook costs no more than a few writes a second; what a crash takes away is sent
 * once more.
 */
export interface Checkpoints {
  open(stored: StoredWebhook, onLost: () => void): void
  /** Notes how far it has come. */
  record(key: WebhookKey, webhook: Webhook): void
  /** Writes down all that is noted. */
  flush(): Promise<void>
  /** Writes down what is noted of it and gives the lease back. */
  close(key: WebhookKey): Promise<void>
  /** Whether the lease lasts for so many milliseconds more. */
  isHeld(key: WebhookKey, milliseconds: number): boolean
  renew(): Promise<void>
  readonly size: number
  has(key: WebhookKey): boolean
}

export function createCheckpoints({ store, lease, logger, clock }: LedgerOptions): Checkpoints {
  const { holder, ttl } = lease
  const pages = new Map<string, Checkpoint>()
  let noted = new Set<Checkpoint>()
  let isGathering = false
  /** One thing after the other, so that revisions are known. */
  let work: Promise<unknown> = Promise.resolve()

  function inTurn<T>(job: () => Promise<T>): Promise<T> {
    const done = work.then(job)
    work = done.catch(() => {})
    return done
  }

  function lose(key: WebhookKey): void {
    const page = pages.get(nameOf(key))
    pages.delete(nameOf(key))
    page?.onLost()
  }

  async function write(): Promise<void> {
    const all = [...noted]
    noted = new Set()
    for (let at = 0; at < all.length; at += batch) await writeSome(all.slice(at, at + batch))
  }

  async function writeSome(some: readonly Checkpoint[]): Promise<void> {
    const held = some.filter((page) => pages.get(nameOf(page.stored)) === page)
    const settled = held.map(({ stored, webhook }) => ({ ...stored, webhook, due: dueOf(webhook) }))
    try {
      const refused = await store.settle(holder, settled)
      for (const page of held) page.stored = { ...page.stored, revision: page.stored.revision + 1 }
      for (const key of refused) lose(key)
    } catch (error) {
      for (const page of held) noted.add(page)
      throw error
    }
  }

  function writeSoon(): void {
    if (isGathering) return
    isGathering = true
    clock.setTimeout(async () => {
      isGathering = false
      try {
        await inTurn(write)
      } catch (error) {
        logger.error({ error }, 'what was pushed could not be written down; it is tried again')
        if (noted.size > 0) clock.setTimeout(writeSoon, 1_000)
      }
    }, gathering)
  }

  async function renewAll(): Promise<void> {
    const all = [...pages.values()]
    for (let at = 0; at < all.length; at += batch) {
      const some = all.slice(at, at + batch)
      const since = performance.now()
      const lost = await store.renew(
        lease,
        some.map(({ stored }) => stored),
      )
      for (const page of some) page.since = since
      for (const key of lost) lose(key)
    }
  }

  return {
    get size() {
      return pages.size
    },
    has: (key) => pages.has(nameOf(key)),
    open(stored, onLost) {
      pages.set(nameOf(stored), { stored, webhook: stored.webhook, since: performance.now(), onLost })
    },
    record(key, webhook) {
      const page = pages.get(nameOf(key))
      if (!page) return
      page.webhook = webhook
      noted.add(page)
      writeSoon()
    },
    isHeld(key, milliseconds) {
      const page = pages.get(nameOf(key))
      return page !== undefined && performance.now() - page.since + milliseconds < ttl
    },
    async close(key) {
      await inTurn(async () => {
        const page = pages.get(nameOf(key))
        pages.delete(nameOf(key))
        if (!page) return await store.release(holder, [key])
        const { stored, webhook } = page
        if (!noted.delete(page)) return await store.release(holder, [key])
        const refused = await store.settle(holder, [{ ...stored, webhook, due: dueOf(webhook), isReleased: true }])
        if (refused.length > 0) await store.release(holder, [key])
      })
    },
    flush: () => (noted.size > 0 ? inTurn(write) : Promise.resolve()),
    renew: () => inTurn(renewAll),
  }
}

export function nameOf({ taskId, owner, id }: WebhookKey): string {
  return JSON.stringify([taskId, owner, id])
}

interface Checkpoint {
  stored: StoredWebhook
  webhook: Webhook
  /** When the lease was last taken or prolonged, by a clock that nobody sets. */
  since: number
  readonly onLost: () => void
}
