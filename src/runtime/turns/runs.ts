import type { Timer } from '../../base/clock.ts'
import type { RuntimeSettings } from '../options.ts'
import { Run, type RunOptions } from './run.ts'

/** Most turns are over before anybody elsewhere could want to say something: so many milliseconds. */
const watchAfter = 50

/** The tasks at work in this process, and the heartbeat of their leases. */
export interface Runs {
  /** How many are at work. */
  readonly size: number
  /** How many messages wait for them. */
  readonly queued: number
  start(start: RunOptions): void
  get(taskId: string): Run | undefined
  /** Says that one may be started soon, so that draining waits for it; to be called back when that is decided. */
  expect(): () => void
  /** Waits until all have come to rest; those that have not by the deadline are stopped. */
  drain(deadline: number): Promise<void>
}

export function createRuns(settings: RuntimeSettings): Runs {
  const { log, logger, leaseTtl, clock, telemetry } = settings
  const runs = new Map<string, { readonly run: Run; readonly fence: number }>()
  let heartbeat: Timer | undefined
  let watching: Timer | undefined
  let expected = 0
  let isLate = false
  const draining: (() => void)[] = []

  function onChange(): void {
    if (draining.length === 0) return
    for (const look of draining.splice(0)) look()
  }

  function watchAll(): void {
    watching = undefined
    for (const { run } of runs.values()) run.watch()
  }

  /** Timers go on until they find nothing to do: tasks come and go faster than they can be set and cleared. */
  function rest(): void {
    clock.clearTimeout(heartbeat)
    heartbeat = undefined
  }

  async function beat(): Promise<void> {
    if (runs.size === 0) return rest()
    const held = []
    for (const [taskId, { run, fence }] of runs) if (!run.isLeaving) held.push({ taskId, fence })
    try {
      const lost = await log.renew(held, leaseTtl)
      for (const taskId of lost) runs.get(taskId)?.run.stop('lease-lost')
    } catch (error) {
      // The next beat comes well before the leases run out.
      telemetry?.note?.({ type: 'lease', what: 'renewal-failed' })
      logger.error({ error }, 'leases could not be renewed')
    }
  }

  function finish(taskId: string): void {
    runs.delete(taskId)
    onChange()
    if (runs.size === 0) hold(false)
  }

  /** Only tasks at work keep the process alive. */
  function hold(isAtWork: boolean): void {
    for (const timer of [heartbeat, watching]) {
      if (typeof timer === 'object') isAtWork ? timer.ref?.() : timer.unref?.()
    }
  }

  return {
    get size() {
      return runs.size
    },
    get queued() {
      let sum = 0
      for (const { run } of runs.values()) sum += run.queueLength
      return sum
    },
    start(start) {
      const { taskId } = start.task
      const run = new Run(start, settings)
      runs.set(taskId, { run, fence: start.fence })
      heartbeat ??= clock.setInterval(beat, leaseTtl / 3)
      watching ??= clock.setTimeout(watchAll, watchAfter)
      if (runs.size === 1) hold(true)
      void run.done.then(() => {
        finish(taskId)
        start.onDone?.()
      })
      if (isLate) run.stop('shutdown')
    },
    get: (taskId) => runs.get(taskId)?.run,
    expect() {
      expected++
      return () => {
        expected--
        onChange()
      }
    },
    async drain(deadline) {
      const timer = clock.setTimeout(() => {
        isLate = true
        for (const { run } of runs.values()) run.stop('shutdown')
      }, deadline)
      while (expected > 0 || runs.size > 0) {
        await new Promise<void>((resolve) => draining.push(resolve))
      }
      clock.clearTimeout(timer)
    },
  }
}
