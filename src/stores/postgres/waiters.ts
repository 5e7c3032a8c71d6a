import type { StoredEvent } from '../../protocol/events.ts'
import { createWakeups } from '../../tasks/follow.ts'
import type { Database } from './connection.ts'
import type { Events } from './events.ts'
import { decodeText, lines } from './sql-text.ts'

/** So many fit into one in any case. */
const most = 500

/** More tasks are not remembered; who waits for one that is forgotten asks the database. */
const maxSeen = 20_000

/** So many are asked for in one query. */
const maxAsked = 1_000

export function decodeNotice(notice: string): { readonly sender: string; readonly hashes: readonly string[] } {
  const [sender = '', ...hashes] = notice.split(' ')
  return { sender, hashes }
}

/** Tells the other replicas of tasks that changed without an append. */
export function createNotify(db: Database, channel: string, sender: string) {
  const send = db.prepare('SELECT pg_notify($1, $2)')
  return async (taskIds: readonly string[]): Promise<void> => {
    for (let at = 0; at < taskIds.length; at += most) {
      await send(channel, encodeNotice(sender, taskIds.slice(at, at + most)))
    }
  }
}

export interface WatchOptions {
  readonly db: Database
  /** Milliseconds from one look at all that are waited for to the next. */
  readonly interval: () => number
  /** How long they may fail until those who wait are told. */
  readonly patience: number
  /** There may be more to read beyond this generation of a task that somebody waits for, and who is woken next. */
  readonly onAwaited: (taskId: string, after: number) => void
}

/** Counts up with what is heard. */
export type Moment = number

/**
 * Who waits for which task, and what is known of it. A notification only says that there may be more; all that is
 * known comes from answers of the database. So a lost notification costs the time until the next look.
 */
export interface Waiters {
  /** To be called before the database is asked about a task; gives the moment at which it is. */
  begin(taskId: string): Moment
  /** The database has answered: at that moment or later the task was at this generation, or at one known before. */
  learn(taskId: string, moment: Moment, generation: number): void
  /** When a notification last told of the task. */
  moment(taskId: string): Moment
  wait(taskId: string, after: number, signal: AbortSignal): Promise<void>
  /** There may be more to read of these. */
  notice(hashes: readonly string[]): void
  /** Anything may have happened unseen: everybody looks. */
  doubt(): void
  stop(): void
}

export function createWaiters({ db, interval, patience, onAwaited }: WatchOptions): Waiters {
  const wakeups = createWakeups()
  const seen = new Map<string, Seen>()
  const byHash = new Map<string, Set<string>>()
  const waiting = new Map<string, number>()
  let now: Moment = 0
  let trustedSince: Moment = 0
  let timer: NodeJS.Timeout | undefined
  let lastLook = performance.now()
  let trouble: { readonly error: unknown } | undefined

  const generations = db.prepare<{ readonly task_id: string; readonly generation: number }>(
    `SELECT task_id, generation FROM ${db.name('tasks')} WHERE task_id = ANY (string_to_array($1, E'\\n'))`,
  )

  function begin(taskId: string): Moment {
    const known = seen.get(taskId)
    if (known) {
      seen.delete(taskId) // and last again, for the first is the one to forget
      seen.set(taskId, known)
      return now
    }
    const hash = hashOf(taskId)
    seen.set(taskId, { hash, generation: 0, checkedAt: -1, toldAt: now, missed: 0 })
    byHash.set(hash, (byHash.get(hash) ?? new Set()).add(taskId))
    if (seen.size > maxSeen) forgetOldest()
    return now
  }

  function forgetOldest() {
    for (const [taskId, { hash }] of seen) {
      if (waiting.has(taskId)) continue
      seen.delete(taskId)
      const same = byHash.get(hash)
      same?.delete(taskId)
      if (same?.size === 0) byHash.delete(hash)
      if (seen.size <= maxSeen) return
    }
  }

  function learn(taskId: string, moment: Moment, generation: number) {
    const known = seen.get(taskId)
    if (!known) return
    known.checkedAt = Math.max(known.checkedAt, moment)
    if (generation <= known.generation) return
    known.generation = generation
    wakeups.wake(taskId)
  }

  function isCertain({ checkedAt, toldAt }: Seen): boolean {
    return checkedAt >= toldAt && checkedAt >= trustedSince
  }

  async function look(taskIds: readonly string[]): Promise<void> {
    const moment = now
    for (const taskId of taskIds) begin(taskId)
    const rows = await generations(lines(taskIds))
    lastLook = performance.now()
    trouble = undefined
    const found = new Map(rows.map(({ task_id, generation }) => [decodeText(task_id), generation]))
    for (const taskId of taskIds) {
      learn(taskId, moment, found.get(taskId) ?? 0)
      if (!found.has(taskId)) miss(taskId)
    }
  }

  /** It was erased, or is yet to be created: those who wait may want to know whether it ever comes. */
  function miss(taskId: string) {
    const known = seen.get(taskId)
    if (known) known.missed++
    wakeups.wake(taskId)
  }

  async function lookAtAll(): Promise<void> {
    const all = [...waiting.keys()]
    for (let at = 0; at < all.length; at += maxAsked) await look(all.slice(at, at + maxAsked))
  }

  /** The net below the notifications. */
  function keepLooking() {
    if (timer || waiting.size === 0 || db.closed.aborted) return
    timer = setTimeout(async () => {
      await lookAtAll().catch(beWorried)
      timer = undefined
      keepLooking()
    }, interval())
    timer.unref()
  }

  /** The database is away. Who waits too long may find it from elsewhere. */
  function beWorried(error: unknown) {
    if (performance.now() - lastLook < patience) return
    trouble = { error }
    wakeups.wakeAll()
  }

  async function sleep(taskId: string, signal: AbortSignal): Promise<void> {
    if (waiting.size === 0) lastLook = performance.now()
    waiting.set(taskId, (waiting.get(taskId) ?? 0) + 1)
    keepLooking()
    try {
      await wakeups.wait(taskId, signal)
    } finally {
      const left = (waiting.get(taskId) ?? 1) - 1
      if (left > 0) waiting.set(taskId, left)
      else waiting.delete(taskId)
    }
  }

  return {
    begin,
    learn,
    moment: (taskId) => seen.get(taskId)?.toldAt ?? now,
    async wait(taskId, after, signal) {
      const oldTrouble = trouble
      while (!signal.aborted && !db.closed.aborted) {
        const known = seen.get(taskId)
        if (known && known.generation > after) return
        if (known && isCertain(known)) {
          const { toldAt, missed } = known
          await sleep(taskId, signal) // Nothing happened since `isCertain`, so nothing is missed.
          if (known.toldAt > toldAt) return // To read costs as much as to look whether there is something to read.
          if (known.missed > missed) return
        } else await look([taskId]).catch(() => sleep(taskId, signal))
        if (trouble && trouble !== oldTrouble) throw db.explain(trouble.error)
      }
    },
    notice(hashes) {
      now++
      for (const hash of hashes) {
        for (const taskId of byHash.get(hash) ?? []) {
          const known = seen.get(taskId)
          if (known) known.toldAt = now
          if (known && waiting.has(taskId)) onAwaited(taskId, known.generation)
          wakeups.wake(taskId)
        }
      }
    },
    doubt() {
      trustedSince = ++now
      wakeups.wakeAll()
    },
    stop() {
      clearTimeout(timer)
      timer = undefined
      wakeups.wakeAll()
    },
  }
}

/** Reads from the database. Those who want the same at the same time, as all readers of a task do, ask it once. */
export type Reads = (taskId: string, after: number) => Promise<readonly StoredEvent[]>

export function createReads(db: Database, events: Events, watch: Waiters): Reads {
  const underWay = new Map<string, Promise<readonly StoredEvent[]>>()

  async function ask(taskId: string, after: number): Promise<readonly StoredEvent[]> {
    const moment = watch.begin(taskId)
    const { page, last = 0 } = await db.patiently(() => events.read(taskId, after))
    watch.learn(taskId, moment, last)
    return page
  }

  return (taskId, after) => {
    // Not together with a read from before the last notification, which may not know what that told of.
    const key = `${after} ${watch.moment(taskId)} ${taskId}`
    const known = underWay.get(key)
    if (known) return known
    const asked = ask(taskId, after).finally(() => underWay.delete(key))
    underWay.set(key, asked)
    return asked
  }
}

/**
 * What a notification says: who sent it, and of which tasks there is more to read. Tasks are told by a short hash, so
 * that hundreds fit into the 8,000 bytes PostgreSQL allows. If two tasks have the same, a reader looks in vain, once.
 */
export function encodeNotice(sender: string, taskIds: readonly string[]): string {
  return [sender, ...new Set(taskIds.map(hashOf))].join(' ')
}

/** FNV-1a, in 32 bits. */
export function hashOf(taskId: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < taskId.length; at++) hash = Math.imul(hash ^ taskId.charCodeAt(at), 0x01000193)
  return (hash >>> 0).toString(36)
}

interface Seen {
  readonly hash: string
  generation: number
  /** When the database was last asked, and when a notification last told of it. */
  checkedAt: Moment
  toldAt: Moment
  /** How often there was no such task. */
  missed: number
}
