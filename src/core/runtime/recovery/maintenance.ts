import { setReferenced } from '../../base/clock.ts'
import { loggedError } from '../../protocol/errors.ts'
import { isEnded } from '../../protocol/states.ts'
import type { Push } from '../../push/push.ts'
import type { TaskHead } from '../../tasks/log.ts'
import type { OpenStreams } from '../open-streams.ts'
import type { RuntimeSettings } from '../options.ts'
import type { Runs } from '../turns/leased-runs.ts'
import { recoverOrphan } from './orphans.ts'

const batchSize = 100

const second = 1000

const hour = 60 * 60 * 1000

/** Periodic work of the runtime: it recovers orphaned tasks, and removes tasks that were kept for long enough. */
export interface Maintenance {
  /**
   * Applies the agent's recovery policy to tasks whose lease has expired, and returns their number. Runs by itself at
   * least twice in every lease period.
   */
  recover(): Promise<number>
  stop(): void
}

export interface MaintenanceOptions {
  readonly settings: RuntimeSettings
  readonly runs: Runs
  readonly push: Pick<Push, 'expire'> | undefined
  /** Ended if the store fails. */
  readonly streams: Pick<OpenStreams, 'failAll'>
}

export function startMaintenance({ settings, runs, push, streams }: MaintenanceOptions): Maintenance {
  const { log, logger, leaseTtl, retention, holder, recovery, clock } = settings
  let isStopped = false

  async function recover(): Promise<number> {
    const decided = runs.expect()
    try {
      for (let recovered = 0; ; ) {
        // Runs of this process are alive, even if their renewal is late.
        const orphans = (await log.orphans(batchSize, leaseTtl)).filter(({ taskId }) => !runs.get(taskId))
        const results = await Promise.all(orphans.map(takeOver))
        recovered += results.filter(Boolean).length
        if (orphans.length < batchSize || !results.includes(true)) return recovered
      }
    } finally {
      decided()
    }
  }

  /** Resumes or fails an orphaned task. Returns false if another process has it. */
  async function takeOver(orphan: TaskHead): Promise<boolean> {
    const { taskId } = orphan
    const lease = isStopped ? undefined : await log.acquire(taskId, { holder, ttl: leaseTtl })
    if (!lease) return false
    const task = (await log.head(taskId)) ?? orphan
    // Another process may have recovered and ended it while this one waited for the lease.
    if (task.phase === 'expired' || isEnded(task.phase)) return false
    await recoverOrphan(task, lease, { settings, runs, log })
    return true
  }

  async function removeOldTasks(): Promise<void> {
    const now = clock.now()
    for (const { age, phases } of retention.groups) {
      while ((await log.expire(now - age, batchSize, phases)) === batchSize);
    }
    if (Number.isFinite(retention.longest)) await push?.expire(now - retention.longest)
    while ((await log.forget(now - retention.forgetAfter, batchSize)) === batchSize);
  }

  /** Runs a job now and periodically. The timer does not keep the process alive. */
  function schedule(milliseconds: number, name: string, job: () => Promise<unknown>): () => void {
    const attempt = () =>
      job().catch((error) => {
        // The log may be closed under a job that was running when the runtime stopped.
        if (isStopped) return
        logger.error({ error: loggedError(error) }, `${name} failed; it is tried again`)
        streams.failAll(error)
      })
    void attempt()
    const timer = clock.setInterval(attempt, milliseconds)
    setReferenced(timer, false)
    return () => clock.clearTimeout(timer)
  }

  // A task that another process hands over must not wait long.
  const recoveryInterval = recovery.isJournaled ? Math.min(leaseTtl / 2, second) : leaseTtl / 2
  // A short retention needs a short interval.
  const removalInterval = Math.max(second, Math.min(hour, ...retention.groups.map(({ age }) => age / 2)))
  const stopJobs = [
    schedule(recoveryInterval, 'the recovery of orphaned tasks', recover),
    schedule(removalInterval, 'the removal of old tasks', removeOldTasks),
  ]

  return {
    recover,
    stop() {
      isStopped = true
      for (const stopJob of stopJobs) stopJob()
    },
  }
}
