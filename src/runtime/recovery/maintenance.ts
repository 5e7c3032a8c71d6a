import { createAgentEvents } from '../../agent/turn-output.ts'
import type { Push } from '../../push/push.ts'
import type { TaskHead } from '../../tasks/log.ts'
import type { RuntimeSettings } from '../options.ts'
import type { Runs } from '../turns/runs.ts'
import { processGone } from './resume.ts'

const batch = 100

const second = 1000

const hour = 60 * 60 * 1000

/** What nobody asks for and has to be done: the tasks of the dead, and what has been kept for long enough. */
export interface Maintenance {
  /** Does with the tasks whose process is gone as the agent's policy says. Also done by itself, at the latest twice
   * in every lease time. */
  recover(): Promise<number>
  stop(): void
}

export function startMaintenance(
  settings: RuntimeSettings,
  runs: Runs,
  push: Pick<Push, 'expire'> | undefined,
): Maintenance {
  const { log, logger, leaseTtl, retention, holder, recovery, clock, telemetry } = settings
  let isStopped = false

  async function recover(): Promise<number> {
    const decided = runs.expect()
    try {
      for (let found = 0; ; ) {
        // Our own are alive: they have only missed a heartbeat.
        const orphans = (await log.orphans(batch)).filter(({ taskId }) => !runs.get(taskId))
        const taken = await Promise.all(orphans.map(takeOver))
        found += taken.filter(Boolean).length
        if (orphans.length < batch || !taken.includes(true)) return found
      }
    } finally {
      decided()
    }
  }

  /** Whether it was us who got it. */
  async function takeOver(orphan: TaskHead): Promise<boolean> {
    const { taskId } = orphan
    const lease = isStopped ? undefined : await log.acquire(taskId, { holder, ttl: leaseTtl })
    if (!lease) return false // another process was faster
    const task = (await log.head(taskId)) ?? orphan
    const { generation, phase } = task
    if (phase === 'expired') return false
    telemetry?.note?.({ type: 'lease', what: 'recovered' })
    if (recovery.isJournaled) {
      runs.start({ task, generation, phase, ...lease })
      return true
    }
    await log.append(taskId, generation, [createAgentEvents(task, clock.now).status('failed', processGone)], lease)
    logger.warn({ taskId, contextId: task.contextId }, 'a task was failed because its process is gone')
    return true
  }

  async function tidy(): Promise<void> {
    const now = clock.now()
    for (const { age, phases } of retention.groups) {
      while ((await log.expire(now - age, batch, phases)) === batch);
    }
    if (Number.isFinite(retention.longest)) await push?.expire(now - retention.longest)
    while ((await log.forget(now - retention.forgetAfter, batch)) === batch);
  }

  const every = (milliseconds: number, what: string, job: () => Promise<unknown>) => {
    const attempt = () => job().catch((error) => logger.error({ error }, `${what} failed; it is tried again`))
    void attempt()
    const timer = clock.setInterval(attempt, milliseconds)
    if (typeof timer === 'object') timer.unref?.() // housekeeping alone keeps no process alive
    return () => clock.clearTimeout(timer)
  }
  // What another process hands over shall not wait for long.
  const rhythm = recovery.isJournaled ? Math.min(leaseTtl / 2, second) : leaseTtl / 2
  // What is kept for a short time is not kept for much longer.
  const tidying = Math.max(second, Math.min(hour, ...retention.groups.map(({ age }) => age / 2)))
  const stops = [every(rhythm, 'the search for abandoned tasks', recover), every(tidying, 'tidying up', tidy)]

  return {
    recover,
    stop() {
      isStopped = true
      for (const stop of stops) stop()
    },
  }
}
