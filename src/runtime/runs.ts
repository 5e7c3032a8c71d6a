import type { RuntimeSettings } from './options.ts'
import { type Run, type RunStart, startRun } from './run.ts'

/** The tasks at work in this process, and the heartbeat of their leases. */
export interface Runs {
  start(start: RunStart): void
  get(taskId: string): Run | undefined
  /** Waits until all have come to rest; those that have not by then are stopped. */
  drain(deadline: number): Promise<void>
}

export function createRuns(settings: RuntimeSettings): Runs {
  const { log, logger, leaseTtl } = settings
  const runs = new Map<string, { readonly run: Run; readonly fence: number }>()
  let heartbeat: ReturnType<typeof setInterval> | undefined

  async function beat(): Promise<void> {
    const held = Array.from(runs, ([taskId, { fence }]) => ({ taskId, fence }))
    try {
      const lost = await log.renew(held, leaseTtl)
      for (const taskId of lost) runs.get(taskId)?.run.stop('lease-lost')
    } catch (error) {
      // The next beat comes well before the leases run out.
      logger.error({ error }, 'leases could not be renewed')
    }
  }

  function finish(taskId: string): void {
    runs.delete(taskId)
    if (runs.size > 0) return
    clearInterval(heartbeat)
    heartbeat = undefined
  }

  return {
    start(start) {
      const { taskId } = start.task
      const run = startRun(start, settings)
      runs.set(taskId, { run, fence: start.fence })
      heartbeat ??= setInterval(beat, leaseTtl / 3)
      void run.done.then(() => finish(taskId))
    },
    get: (taskId) => runs.get(taskId)?.run,
    async drain(deadline) {
      const all = Array.from(runs.values(), ({ run }) => run)
      const timer = setTimeout(() => {
        for (const run of all) run.stop('shutdown')
      }, deadline)
      await Promise.all(all.map((run) => run.done))
      clearTimeout(timer)
    },
  }
}
