import type { Wakeups } from '../../core/tasks/follow.ts'
import type { SqliteDatabase } from './connection.ts'
import type { WalSync } from './group-commit.ts'

/** Polling interval in milliseconds. SQLite has no notifications. */
const pollInterval = 30

/** Polling interval for erased tasks, in milliseconds: the query is more expensive, and erasure is rare. */
const erasedInterval = 500

/** Wakes waiting readers when another process has appended to their task in the same file, or has erased it. */
export interface CrossProcessWakeups {
  /** Polls from now on, as long as there are waiting readers. */
  watch(): void
  stop(): void
}

export function createCrossProcessWakeups(
  db: SqliteDatabase,
  wakeups: Wakeups,
  disk?: Pick<WalSync, 'sync'>,
): CrossProcessWakeups {
  // The version changes only when another connection commits. One query, so that both values are consistent.
  const selectState = db.prepare(`
    SELECT data_version AS version, (SELECT coalesce(max(id), 0) FROM events) AS last FROM pragma_data_version`)
  const selectTasks = db.prepare(`
    SELECT DISTINCT tasks.task_id FROM events JOIN tasks ON tasks.key = events.task WHERE events.id > ?`)
  const selectErased = db.prepare(`
    SELECT value AS task_id FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.task_id = value)`)
  let timer: NodeJS.Timeout | undefined
  let state: LogState = { version: 0, last: 0 }
  /** Whether a reader began to wait, or another process committed, since the last check for erased tasks. */
  let mayBeErased = false
  let erasedCheckedAt = 0

  function wakeErased() {
    const time = performance.now()
    if (!mayBeErased || time < erasedCheckedAt + erasedInterval) return
    mayBeErased = false
    erasedCheckedAt = time
    const erased = selectErased.all(JSON.stringify(wakeups.awaited())) as { task_id: string }[]
    for (const { task_id } of erased) wakeups.wake(task_id)
  }

  function poll() {
    if (wakeups.size === 0) return stop()
    try {
      const previous = state
      state = selectState.get() as LogState
      mayBeErased ||= state.version !== previous.version
      wakeErased()
      if (state.version === previous.version) return
      const changed = selectTasks.all(previous.last) as { task_id: string }[]
      const wake = () => {
        for (const { task_id } of changed) wakeups.wake(task_id)
      }
      // The other process may still be syncing, and readers must only see what is on disk.
      if (disk && changed.length > 0) disk.sync(wake)
      else wake()
    } catch {
      wakeups.wakeAll() // the readers query the log themselves and get the error
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
      state = selectState.get() as LogState
      timer = setInterval(poll, pollInterval)
      timer.unref()
    },
    stop,
  }
}

interface LogState {
  readonly version: number
  /** The id of the last event. */
  readonly last: number
}
