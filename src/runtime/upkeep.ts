import { createVoice } from '../agent/voice.ts'
import type { TaskHead } from '../tasks/log.ts'
import type { RuntimeSettings } from './options.ts'
import type { Runs } from './runs.ts'

const batch = 100
const hour = 60 * 60 * 1000

/** What nobody asks for and has to be done: the tasks of the dead, and what has been kept for long enough. */
export interface Upkeep {
  /** Ends the tasks whose process is gone. Also done by itself, twice in every lease time. */
  recover(): Promise<number>
  stop(): void
}

export function startUpkeep(settings: RuntimeSettings, runs: Runs): Upkeep {
  const { log, logger, leaseTtl, retention, holder } = settings

  async function recover(): Promise<number> {
    // Our own are alive: they have only missed a heartbeat.
    const orphans = (await log.orphans(batch)).filter(({ taskId }) => !runs.get(taskId))
    for (const orphan of orphans) await fail(orphan)
    return orphans.length
  }

  async function fail(orphan: TaskHead): Promise<void> {
    const { taskId } = orphan
    const lease = await log.acquire(taskId, { holder, ttl: leaseTtl })
    if (!lease) return // another process was faster
    const head = (await log.head(taskId)) ?? orphan
    const reason = 'The process that worked on this task stopped before it had finished. Please send it again.'
    await log.append(taskId, head.generation, [createVoice(orphan).status('failed', reason)], lease)
    logger.warn({ taskId }, 'a task was failed because its process is gone')
  }

  async function tidy(): Promise<void> {
    const now = Date.now()
    while ((await log.expire(now - retention.ended, batch)) === batch);
    while ((await log.forget(now - retention.ended - retention.tombstones, batch)) === batch);
  }

  const every = (milliseconds: number, what: string, job: () => Promise<unknown>) => {
    const attempt = () => job().catch((error) => logger.error({ error }, `${what} failed; it is tried again`))
    void attempt()
    const timer: { unref?(): void } & ReturnType<typeof setInterval> = setInterval(attempt, milliseconds)
    timer.unref?.() // housekeeping alone keeps no process alive
    return () => clearInterval(timer)
  }
  const stops = [every(leaseTtl / 2, 'the search for abandoned tasks', recover), every(hour, 'tidying up', tidy)]

  return {
    recover,
    stop() {
      for (const stop of stops) stop()
    },
  }
}
