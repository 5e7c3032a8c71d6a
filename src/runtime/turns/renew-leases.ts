import type { Timer } from '../../base/clock.ts'
import { operatorError } from '../../protocol/errors.ts'
import type { HeldLease } from '../../tasks/log.ts'
import type { RuntimeSettings } from '../options.ts'

/** Renews the leases of the tasks that run in this process, three times in every lease period. */
export interface LeaseRenewal {
  /** Starts the timer, unless it runs. It stops when it finds no lease: tasks come and go faster than timers are set. */
  start(): void
  /** Whether the timer keeps the process alive. */
  keepAlive(isRunning: boolean): void
}

export interface LeaseRenewalOptions {
  readonly settings: Pick<RuntimeSettings, 'log' | 'logger' | 'leaseTtl' | 'clock' | 'telemetry'>
  /** The leases to renew. */
  readonly leases: () => readonly HeldLease[]
  /** Called for a task whose lease another process has taken. */
  readonly onLost: (taskId: string) => void
}

export function createLeaseRenewal({ settings, leases, onLost }: LeaseRenewalOptions): LeaseRenewal {
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
      logger.error({ error: operatorError(error) }, 'leases could not be renewed')
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

/** An unreferenced timer does not keep a Node process alive. */
export function setReferenced(timer: Timer | undefined, isReferenced: boolean): void {
  if (typeof timer !== 'object') return
  if (isReferenced) timer.ref?.()
  else timer.unref?.()
}
