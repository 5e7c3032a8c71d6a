import type { PushStore } from '../../push/store.ts'
import type { SqliteDatabase } from './driver.ts'
import { createWebhooks } from './webhooks.ts'

/** How the log reads and writes: in order, in groups, and telling nothing that is not on disk. */
export interface Access {
  look<T>(read: () => T): Promise<T>
  write<T>(work: () => T): Promise<T>
}

/** Webhooks in the file of the log. */
export function createSqlitePushStore(db: SqliteDatabase, { look, write }: Access, clock: () => number): PushStore {
  const webhooks = createWebhooks(db, clock)
  return {
    add(webhook, lease) {
      const text = JSON.stringify(webhook.webhook)
      return write(() => webhooks.add(webhook, text, lease))
    },
    edit(webhook) {
      const text = JSON.stringify(webhook.webhook)
      return write(() => webhooks.edit(webhook, text))
    },
    remove: (key) => write(() => webhooks.remove(key)),
    get: (key) => look(() => webhooks.get(key)),
    list: (query) => look(() => webhooks.list(query)),
    claim: (lease, limit) => write(() => webhooks.claim(lease, limit)),
    renew: (lease, held) => write(() => held.filter((stored) => !webhooks.renew(lease, stored))),
    settle(holder, settled) {
      const texts = settled.map(({ webhook }) => JSON.stringify(webhook))
      return write(() =>
        settled.filter((each, at) => !webhooks.settle(holder, each, texts[at] ?? '', each.isReleased === true)),
      )
    },
    release: (holder, keys) =>
      write(() => {
        for (const key of keys) webhooks.release(holder, key)
      }),
    expire: (idleBefore, limit) => write(() => webhooks.expire(idleBefore, limit)),
  }
}
