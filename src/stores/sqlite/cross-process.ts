import type { Wakeups } from '../../tasks/follow.ts'
import type { SqliteDatabase } from './connection.ts'
import type { WalSync } from './group-commit.ts'

/** Milliseconds. SQLite tells nobody, so one has to ask. */
const interval = 30

/** Milliseconds between two looks for what is erased, which costs more and happens rarely. */
const erasedInterval = 500

/** Wakes those who wait here for what other processes append to the same file, or for what they have erased. */
export interface CrossProcessWakeups {
  /** Looks from now on, until nobody waits any more. */
  watch(): void
  stop(): void
}

export function createCrossProcessWakeups(
  db: SqliteDatabase,
  wakeups: Wakeups,
  disk?: Pick<WalSync, 'sync'>,
): CrossProcessWakeups {
  // The version changes only when another connection commits. In one query, so that both are of the same moment.
  const selectNow = db.prepare(`
    SELECT data_version AS version, (SELECT coalesce(max(id), 0) FROM events) AS last FROM pragma_data_version`)
  const selectTasks = db.prepare(`
    SELECT DISTINCT tasks.task_id FROM events JOIN tasks ON tasks.key = events.task WHERE events.id > ?`)
  const selectErased = db.prepare(`
    SELECT value AS task_id FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.task_id = value)`)
  let timer: NodeJS.Timeout | undefined
  let seen: Moment = { version: 0, last: 0 }
  /** Somebody has come to wait, or another process has committed, since it was last looked for what is erased. */
  let mayBeErased = false
  let lookedForErased = 0

  function wakeErased() {
    const time = performance.now()
    if (!mayBeErased || time < lookedForErased + erasedInterval) return
    mayBeErased = false
    lookedForErased = time
    const erased = selectErased.all(JSON.stringify(wakeups.awaited())) as { task_id: string }[]
    for (const { task_id } of erased) wakeups.wake(task_id)
  }

  function look() {
    if (wakeups.size === 0) return stop()
    try {
      const before = seen
      seen = selectNow.get() as Moment
      mayBeErased ||= seen.version !== before.version
      wakeErased()
      if (seen.version === before.version) return
      const changed = selectTasks.all(before.last) as { task_id: string }[]
      const wake = () => {
        for (const { task_id } of changed) wakeups.wake(task_id)
      }
      // Who wrote it may still wait for the disk, and what is told must be there.
      if (disk && changed.length > 0) disk.sync(wake)
      else wake()
    } catch {
      wakeups.wakeAll() // They look for themselves, and meet the trouble where it can be answered.
    }
  }

  function stop() {
    clearInterval(timer)
    timer = undefined
  }

  return {
    watch() {
      mayBeErased = true
      if (timer) return
      seen = selectNow.get() as Moment
      timer = setInterval(look, interval)
      timer.unref()
    },
    stop,
  }
}

interface Moment {
  readonly version: number
  /** The id of the last event. */
  readonly last: number
}
