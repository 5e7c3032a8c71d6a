import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { EntryKind, EntryStore, RegistryEntry } from './entry.ts'
import type { UpkeepOptions } from './options.ts'

const atOnce = 1_000

/** Milliseconds that another replica waits for one that does not report. */
const leaseTtl = 60_000

export interface UpkeepSettings extends UpkeepOptions {
  readonly entries: EntryStore
  readonly clock: Clock
  readonly logger: Logger
  /** Milliseconds of silence after which entries are removed. */
  readonly removeAfter: Readonly<Record<EntryKind, number>>
  /** Looks at an entry that is due, and says when to look again. */
  readonly look: (entry: RegistryEntry) => Promise<unknown>
  /** What is also done now and then, and may take long. */
  readonly beside?: () => Promise<void>
}

export interface Maintenance {
  /** One pass: removes who is too old, and looks at who is due. Does nothing while another replica is at it. */
  run(): Promise<void>
  start(): void
  /** Resolves when a pass that is under way has ended. */
  stop(): Promise<void>
}

export function createUpkeep(settings: UpkeepSettings): Maintenance {
  const { entries, clock, logger, removeAfter, look, beside, interval = 15_000, concurrency = 8 } = settings
  const holder = crypto.randomUUID()
  let timer: ReturnType<Clock['setInterval']> | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  const hold = () => entries.lease('upkeep', holder, leaseTtl)

  async function expire(): Promise<void> {
    for (const kind of ['mesh', 'a2a'] as const) {
      const before = clock.now() - removeAfter[kind]
      while (!isStopped && (await entries.expire(kind, before, atOnce)).length === atOnce) {
        if (!(await hold())) return
      }
    }
  }

  /** So many at the same time, and each once in a pass: who stays due although it was looked at waits for the next. */
  async function lookAtDue(): Promise<void> {
    const looked = new Set<string>()
    let held = clock.now()
    for (;;) {
      const due = (await entries.due(clock.now(), concurrency * 4)).filter(({ id }) => !looked.has(id))
      if (due.length === 0 || isStopped) return
      for (const { id } of due) looked.add(id)
      const queue = due.values()
      const work = async () => {
        for (const entry of queue) {
          if (isStopped) return
          await look(entry).catch((error) =>
            logger.error({ error, agent: entry.id }, 'an agent could not be looked at'),
          )
        }
      }
      await Promise.all(Array.from({ length: concurrency }, work))
      if (clock.now() - held < beat) continue
      if (!(await hold())) return
      held = clock.now()
    }
  }

  async function pass(): Promise<void> {
    if (isStopped || !(await hold())) return
    await expire()
    await lookAtDue()
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
        for (const work of beside ? [run, beside] : [run]) {
          work().catch((error) => logger.error({ error }, 'the upkeep of the registry failed; it is tried again'))
        }
      }
      timer ??= clock.setInterval(attempt, interval)
      if (typeof timer === 'object') timer.unref?.() // housekeeping alone keeps no process alive
    },
    async stop() {
      isStopped = true
      clock.clearTimeout(timer)
      await running?.catch(() => {})
    },
  }
}

/** What may go on until the lease has to be prolonged. */
const beat = leaseTtl / 3
