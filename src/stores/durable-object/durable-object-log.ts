import { type Clock, monotonicOf, systemClock } from '../../core/base/clock.ts'
import type { PushStore } from '../../core/push/store.ts'
import { createWakeups } from '../../core/tasks/follow.ts'
import { ForeignLog, type TaskLog } from '../../core/tasks/log.ts'
import type { OperatorLog } from '../../core/tasks/operator-log.ts'
import type { LogAccess } from '../sqlite/connection.ts'
import { createLogOperations } from '../sqlite/log-operations.ts'
import { type ObjectStorage, openObjectDatabase } from './object-database.ts'

/** How often old tasks are removed from an object without other work, in milliseconds. */
const removalInterval = 24 * 60 * 60 * 1000

export interface DurableObjectLogOptions {
  /** Called after every write. */
  readonly onWrite?: () => void
  /** The digits at which new ids end. See `TaskLog.idSuffix`. */
  readonly idSuffix?: () => string
  /** Clock for leases and retention. For tests. */
  readonly clock?: Clock
}

/** A task log in the SQLite storage of a Durable Object, with the webhooks of its tasks. */
export interface DurableObjectLog extends TaskLog {
  readonly webhooks: PushStore
  readonly operator: OperatorLog
  /**
   * When the object has work next, in milliseconds since 1970: a lease or a pause ends, a webhook is due, or old tasks are to be
   * removed. Undefined if it has no tasks.
   */
  nextDue(): number | undefined
}

/**
 * Opens the log of a Durable Object. The platform runs an object once, and holds back what leaves it until its writes are durable.
 * So a lease that is found on opening belongs to an instance that is gone, and ends at once.
 */
export function openDurableObjectLog(
  storage: ObjectStorage,
  { onWrite, idSuffix = () => '', clock = systemClock }: DurableObjectLogOptions = {},
): DurableObjectLog {
  const db = openObjectDatabase(storage)
  storage.transactionSync(() => {
    for (const table of ['tasks', 'webhooks']) {
      db.prepare(`UPDATE ${table} SET lease_until = 0 WHERE lease_holder IS NOT NULL`).run()
    }
  })
  const wakeups = createWakeups()
  const leaseTime = monotonicOf(clock)
  let isClosed = false

  function readNow<T>(read: () => T): T {
    if (isClosed) throw new Error('The task log of the Durable Object is closed.')
    return read()
  }

  const access: LogAccess = {
    readNow,
    query: async (read) => readNow(read),
    async write(work) {
      const result = readNow(() => storage.transactionSync(work))
      onWrite?.()
      return result
    },
  }

  const selectDue = db.prepare(`
    SELECT (SELECT min(lease_until) FROM tasks WHERE lease_until IS NOT NULL) - ? + ? AS lease,
      (SELECT min(wake_at) FROM tasks WHERE wake_at IS NOT NULL) AS pause,
      (SELECT min(due) FROM webhooks WHERE due IS NOT NULL) AS webhook,
      (SELECT 1 FROM tasks LIMIT 1) * ? AS removal`)
  const selectAgent = db.prepare('SELECT name FROM log_agent')
  const insertAgent = db.prepare('INSERT INTO log_agent (name) VALUES (?)')

  return {
    ...createLogOperations(db, {
      access,
      wakeups,
      now: clock.now,
      leaseTime,
      background: async ({ sql, values = [] }) => readNow(() => db.prepare(sql).all(...values)),
      size: () => storage.sql.databaseSize,
    }),
    idSuffix,
    async reserveFor(agent) {
      const owner = (selectAgent.get() as { readonly name: string } | undefined)?.name
      if (owner === undefined) insertAgent.run(agent)
      else if (owner !== agent) throw new ForeignLog('The Durable Object', 'its own binding', { agent, owner })
    },
    nextDue() {
      const now = clock.now()
      const times = Object.values(
        selectDue.get(leaseTime(), now, now + removalInterval) as Record<string, number | null>,
      )
      const due = Math.min(...times.filter((time) => time !== null))
      return Number.isFinite(due) ? due : undefined
    },
    async close() {
      isClosed = true
      wakeups.wakeAll()
    },
  }
}
