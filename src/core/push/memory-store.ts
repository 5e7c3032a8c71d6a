import { type Clock, monotonicOf, systemClock } from '../base/clock.ts'
import { serializeKey } from './delivery/checkpoints.ts'
import type { NewWebhook, PushStore, StoredWebhook, WebhookKey } from './store.ts'

const unleased = { holder: '', leaseUntil: Number.NEGATIVE_INFINITY }

/** The reference store, for tests and for agents whose tasks need not survive their process. */
export function createMemoryPushStore(clock: Clock = systemClock): PushStore {
  const entries = new Map<string, Entry>()
  let lastPlace = 0

  const leaseTime = monotonicOf(clock)
  const isLeased = ({ leaseUntil }: Entry) => leaseUntil > leaseTime()
  const entryOf = (key: WebhookKey) => entries.get(serializeKey(key))

  /** The entry, if it still has the revision that the writer has read. */
  function atRevision({ revision, ...key }: StoredWebhook): Entry | undefined {
    const entry = entryOf(key)
    return entry?.stored.revision === revision ? entry : undefined
  }

  function change(entry: Entry, { due, webhook }: NewWebhook): StoredWebhook {
    entry.stored = { ...entry.stored, due, webhook, revision: entry.stored.revision + 1 }
    entry.touched = clock.now()
    return entry.stored
  }

  return {
    async add(added, lease) {
      if (entryOf(added)) return undefined
      const { taskId, owner, id, due, webhook } = added
      const stored = { taskId, owner, id, due, webhook, revision: 1, place: ++lastPlace }
      const now = clock.now()
      const leased = lease ? { holder: lease.holder, leaseUntil: leaseTime() + lease.ttl } : unleased
      entries.set(serializeKey(added), { stored, touched: now, ...leased })
      return stored
    },
    async edit(webhook) {
      const entry = atRevision(webhook)
      return entry && change(entry, webhook)
    },
    async remove(key) {
      return entries.delete(serializeKey(key))
    },
    async get(key) {
      return entryOf(key)?.stored
    },
    async list({ taskId, after = 0, limit }) {
      const page: StoredWebhook[] = []
      for (const { stored } of entries.values()) {
        if (stored.place <= after || (taskId !== undefined && stored.taskId !== taskId)) continue
        page.push(stored)
        if (page.length === limit) break
      }
      return page
    },
    async claim({ holder, ttl }, limit) {
      const now = clock.now()
      const due = [...entries.values()].filter((entry) => (entry.stored.due ?? now + 1) <= now && !isLeased(entry))
      due.sort((one, other) => (one.stored.due ?? 0) - (other.stored.due ?? 0))
      return due.slice(0, limit).map((entry) => {
        Object.assign(entry, { holder, leaseUntil: leaseTime() + ttl })
        return entry.stored
      })
    },
    async renew({ holder, ttl }, held) {
      return held.filter((stored) => {
        const entry = atRevision(stored)
        if (entry?.holder !== holder) return true
        entry.leaseUntil = leaseTime() + ttl
        return false
      })
    },
    async settle(holder, settled) {
      return settled.filter((update) => {
        const entry = atRevision(update)
        if (entry?.holder !== holder) return true
        change(entry, update)
        if (update.isReleased) Object.assign(entry, unleased)
        return false
      })
    },
    async release(holder, keys) {
      for (const key of keys) {
        const entry = entryOf(key)
        if (entry?.holder === holder) Object.assign(entry, unleased)
      }
    },
    async expire(idleBefore, limit) {
      const idle = [...entries].filter(([, { stored, touched }]) => stored.due === undefined && touched < idleBefore)
      for (const [name] of idle.slice(0, limit)) entries.delete(name)
      return Math.min(idle.length, limit)
    },
  }
}

interface Entry {
  stored: StoredWebhook
  holder: string
  leaseUntil: number
  /** Time of the last change, in milliseconds since 1970. */
  touched: number
}
