import { type Clock, systemClock } from '../base/clock.ts'
import { nameOf } from './delivery/checkpoints.ts'
import type { NewWebhook, PushStore, StoredWebhook, WebhookKey } from './store.ts'

const free = { holder: '', leaseUntil: 0 }

/** The reference store: for tests, and for agents whose tasks may die with their process. */
export function createMemoryPushStore(clock: Clock = systemClock): PushStore {
  const entries = new Map<string, Entry>()
  let lastPlace = 0

  const isLeased = ({ leaseUntil }: Entry) => leaseUntil > clock.now()
  const entryOf = (key: WebhookKey) => entries.get(nameOf(key))

  /** The entry, if it is still as the writer believes. */
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
    async add(given, lease) {
      if (entryOf(given)) return undefined
      const { taskId, owner, id, due, webhook } = given
      const stored = { taskId, owner, id, due, webhook, revision: 1, place: ++lastPlace }
      const now = clock.now()
      const leased = lease ? { holder: lease.holder, leaseUntil: now + lease.ttl } : { holder: '', leaseUntil: 0 }
      entries.set(nameOf(given), { stored, touched: now, ...leased })
      return stored
    },
    async edit(webhook) {
      const entry = atRevision(webhook)
      return entry && change(entry, webhook)
    },
    async remove(key) {
      return entries.delete(nameOf(key))
    },
    async get(key) {
      return entryOf(key)?.stored
    },
    async list({ taskId, after = 0, limit }) {
      const found: StoredWebhook[] = []
      for (const { stored } of entries.values()) {
        if (stored.place <= after || (taskId !== undefined && stored.taskId !== taskId)) continue
        found.push(stored)
        if (found.length === limit) break
      }
      return found
    },
    async claim({ holder, ttl }, limit) {
      const now = clock.now()
      const free = [...entries.values()].filter((entry) => (entry.stored.due ?? now + 1) <= now && !isLeased(entry))
      free.sort((one, other) => (one.stored.due ?? 0) - (other.stored.due ?? 0))
      return free.slice(0, limit).map((entry) => {
        Object.assign(entry, { holder, leaseUntil: now + ttl })
        return entry.stored
      })
    },
    async renew({ holder, ttl }, held) {
      return held.filter((stored) => {
        const entry = atRevision(stored)
        if (entry?.holder !== holder) return true
        entry.leaseUntil = clock.now() + ttl
        return false
      })
    },
    async settle(holder, settled) {
      return settled.filter((given) => {
        const entry = atRevision(given)
        if (entry?.holder !== holder) return true
        change(entry, given)
        if (given.isReleased) Object.assign(entry, free)
        return false
      })
    },
    async release(holder, keys) {
      for (const key of keys) {
        const entry = entryOf(key)
        if (entry?.holder === holder) Object.assign(entry, free)
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
  /** When it was last changed. */
  touched: number
}
