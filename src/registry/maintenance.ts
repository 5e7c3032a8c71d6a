import type { Clock } from '../core/base/clock.ts'
import type { Logger } from '../core/base/logger.ts'
import { loggedError } from '../core/protocol/errors.ts'
import type { EntryKind, RegistryEntry, RegistryStore } from './entry.ts'
import type { MaintenanceOptions } from './options.ts'

const pageSize = 1_000

/** Milliseconds after which another replica takes over from one that no longer extends its lease. */
const leaseTtl = 60_000

/** Milliseconds after which a running pass extends its lease. */
const extendAfter = leaseTtl / 3

export interface MaintenanceSettings extends MaintenanceOptions {
  readonly entries: RegistryStore
  readonly clock: Clock
  readonly logger: Logger
  /** Milliseconds after which entries that were not seen are removed. */
  readonly removeAfter: Readonly<Record<EntryKind, number>>
  /** Checks an entry that is due, and schedules the next check. */
  readonly check: (entry: RegistryEntry) => Promise<unknown>
  /** Runs at the same interval, independently of the passes; it may take long. */
  readonly alongside?: () => Promise<void>
}

export interface Maintenance {
  /** One pass: removes expired entries and checks due ones. Does nothing while another replica holds the lease. */
  run(): Promise<void>
  start(): void
  /** Resolves when a running pass has ended. */
  stop(): Promise<void>
}

export function createMaintenance(settings: MaintenanceSettings): Maintenance {
  const { entries, clock, logger, removeAfter, check, alongside, interval = 15_000, concurrency = 8 } = settings
  const holder = crypto.randomUUID()
  let timer: ReturnType<Clock['setInterval']> | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  const holdLease = () => entries.lease('upkeep', holder, leaseTtl)

  async function removeExpired(): Promise<void> {
    for (const kind of ['mesh', 'a2a'] as const) {
      const seenBefore = clock.now() - removeAfter[kind]
      while (!isStopped && (await entries.expire(kind, seenBefore, pageSize)).length === pageSize) {
        if (!(await holdLease())) return
      }
    }
  }

  /** Checks `concurrency` entries at a time, each once per pass: an entry that stays due waits for the next pass. */
  async function checkDue(): Promise<void> {
    const checked = new Set<string>()
    let extendedAt = clock.now()
    for (;;) {
      const due = (await entries.due(clock.now(), concurrency * 4)).filter(({ id }) => !checked.has(id))
      if (due.length === 0 || isStopped) return
      for (const { id } of due) checked.add(id)
      const queue = due.values()
      const worker = async () => {
        for (const entry of queue) {
          if (isStopped) return
          await check(entry).catch((error) =>
            logger.error({ error: loggedError(error), agent: entry.id }, 'failed to check an agent'),
          )
        }
      }
      await Promise.all(Array.from({ length: concurrency }, worker))
      if (clock.now() - extendedAt < extendAfter) continue
      if (!(await holdLease())) return
      extendedAt = clock.now()
    }
  }

  async function pass(): Promise<void> {
    if (isStopped || !(await holdLease())) return
    await removeExpired()
    await checkDue()
  }

  function run(): Promise<void> {
    running ??= pass().finally(() => {
      running = undefined
    })
    return running
  }

  return {
    run,
    start() {
      const attempt = () => {
        for (const work of alongside ? [run, alongside] : [run]) {
          work().catch((error) =>
            logger.error({ error: loggedError(error) }, 'registry maintenance failed; will retry'),
          )
        }
      }
      timer ??= clock.setInterval(attempt, interval)
      if (typeof timer === 'object') timer.unref?.() // maintenance alone must not keep the process alive
    },
    async stop() {
      isStopped = true
      clock.clearTimeout(timer)
      await running?.catch(() => {})
    },
  }
}
