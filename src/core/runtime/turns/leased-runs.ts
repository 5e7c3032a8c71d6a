import { setReferenced, type Timer } from '../../base/clock.ts'
import { SlotMap } from '../../base/slot-map.ts'
import { loggedError } from '../../protocol/errors.ts'
import type { HeldLease } from '../../tasks/log.ts'
import type { OpenStreams } from '../open-streams.ts'
import type { RuntimeSettings } from '../options.ts'
import { Run, type RunOptions } from './run.ts'

/** Runs follow the log for events of other processes after one or two of these periods. Most turns are over earlier. */
const watchAfter = 50

/** Milliseconds for which stopped runs may wait for the store. Later, their leases expire and another process takes over. */
const storeGrace = 2_000

/** The tasks that run in this process, each under a lease, which is renewed as long as it runs. */
export interface Runs {
  readonly size: number
  /** How many messages wait for them. */
  readonly queued: number
  start(options: RunOptions): void
  get(taskId: string): Run | undefined
  /** Announces that a run may start, so that `drain` waits. Returns a function to call when that is decided. */
  expect(): () => void
  /**
   * Waits until no task runs. Runs that wait for an answer are stopped at once. After `deadline` milliseconds, the
   * remaining runs are stopped, and left behind after another `endWithin`.
   */
  drain(deadline: number, endWithin?: number): Promise<void>
}

export function createRuns(settings: RuntimeSettings, streams: Pick<OpenStreams, 'failTask' | 'failAll'>): Runs {
  const { clock } = settings
  const runs = new SlotMap<string, Run>()
  const renewal = createLeaseRenewal({
    settings,
    leases: heldLeases,
    onLost: (taskId) => runs.get(taskId)?.stop('lease-lost'),
    onFailure: streams.failAll,
  })
  let watchTimer: Timer | undefined
  let expected = 0
  /** How long a stopped turn may take to end, in milliseconds. Set while draining. */
  let drainGrace: number | undefined
  let isPastDeadline = false
  const drains: (() => void)[] = []

  function heldLeases(): readonly HeldLease[] {
    const leases: HeldLease[] = []
    for (const { lease } of runs.values()) if (lease) leases.push(lease)
    return leases
  }

  function watchAll(): void {
    watchTimer = undefined
    let hasNew = false
    for (const run of runs.values()) {
      const isNew = run.watch()
      hasNew ||= isNew
    }
    if (hasNew) startWatchTimer()
  }

  function startWatchTimer(): void {
    watchTimer ??= clock.setTimeout(watchAll, watchAfter)
  }

  function onChange(): void {
    if (drains.length === 0) return
    for (const check of drains.splice(0)) check()
  }

  function finish(taskId: string, run: Run): void {
    // A run whose lease has expired may be replaced by another one before it is over.
    if (runs.get(taskId) === run) runs.delete(taskId)
    onChange()
    if (runs.size === 0) keepAlive(false)
  }

  /** The process stays alive only while a task runs. */
  function keepAlive(isRunning: boolean): void {
    renewal.keepAlive(isRunning)
    setReferenced(watchTimer, isRunning)
  }

  return {
    get size() {
      return runs.size
    },
    get queued() {
      let sum = 0
      for (const { queueLength } of runs.values()) sum += queueLength
      return sum
    },
    start(options) {
      const { taskId } = options.task
      runs.get(taskId)?.stop('lease-lost')
      const run = new Run(options, settings)
      runs.set(taskId, run)
      renewal.start()
      startWatchTimer()
      if (runs.size === 1) keepAlive(true)
      void run.done.then(() => {
        finish(taskId, run)
        if (run.failure) streams.failTask(taskId, run.failure)
        options.onDone?.()
      })
      if (drainGrace !== undefined) run.drain(drainGrace)
      if (isPastDeadline) run.stop('shutdown', drainGrace)
    },
    get: (taskId) => runs.get(taskId),
    expect() {
      expected++
      return () => {
        expected--
        onChange()
      }
    },
    async drain(deadline, endWithin = settings.cancelGrace + storeGrace) {
      let isOver = false
      // The rest of the time is for the store.
      const grace = Math.min(settings.cancelGrace, endWithin / 2)
      drainGrace = grace
      for (const run of runs.values()) run.drain(grace)
      const stop = () => {
        isPastDeadline = true
        for (const run of runs.values()) run.stop('shutdown', grace)
      }
      const leave = () => {
        isOver = true
        onChange()
      }
      const timers = [clock.setTimeout(stop, deadline), clock.setTimeout(leave, deadline + endWithin)]
      while (!isOver && (expected > 0 || runs.size > 0)) {
        await new Promise<void>((resolve) => drains.push(resolve))
      }
      for (const timer of timers) clock.clearTimeout(timer)
    },
  }
}

/** Renews the leases of the tasks that run in this process, three times in every lease period. */
interface LeaseRenewal {
  /** Starts the timer, unless it runs. It stops when it finds no lease: tasks come and go faster than timers are set. */
  start(): void
  /** Whether the timer keeps the process alive. */
  keepAlive(isRunning: boolean): void
}

interface LeaseRenewalOptions {
  readonly settings: Pick<RuntimeSettings, 'log' | 'logger' | 'leaseTtl' | 'clock' | 'telemetry'>
  /** The leases to renew. */
  readonly leases: () => readonly HeldLease[]
  /** Called for a task whose lease another process has taken. */
  readonly onLost: (taskId: string) => void
  readonly onFailure: (error: unknown) => void
}

function createLeaseRenewal({ settings, leases, onLost, onFailure }: LeaseRenewalOptions): LeaseRenewal {
  const { log, logger, leaseTtl, clock, telemetry } = settings
  let timer: Timer | undefined

  async function renew(): Promise<void> {
    const held = leases()
    if (held.length === 0) return stop()
    try {
      for (const taskId of await log.renew(held, leaseTtl)) onLost(taskId)
    } catch (error) {
      // The next attempt comes well before the leases expire.
      telemetry?.record?.({ type: 'lease', what: 'renewal-failed' })
      logger.error({ error: loggedError(error) }, 'leases could not be renewed')
      onFailure(error)
    }
  }

  function stop(): void {
    clock.clearTimeout(timer)
    timer = undefined
  }

  return {
    start() {
      timer ??= clock.setInterval(renew, leaseTtl / 3)
    },
    keepAlive: (isRunning) => setReferenced(timer, isRunning),
  }
}
