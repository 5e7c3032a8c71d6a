import type { DurableObjectLog } from '../../stores/durable-object/durable-object-log.ts'
import type { ObjectStorage } from '../../stores/durable-object/object-database.ts'

/** The latest time at which an object with work wakes up again, in milliseconds: about the duration of a lease. */
const patience = 30_000

/** How long an object that was woken stays awake for work that is due, and how often it looks, in milliseconds. */
const staysAwake = 10_000
const pollInterval = 200

/** The part of the state of a Durable Object that the Worker uses. */
export interface ObjectState {
  readonly storage: ObjectStorage & {
    setAlarm(time: number): Promise<void>
    deleteAlarm(): Promise<void>
  }
}

/**
 * The one alarm of an object. The runtime works by its own timers while the object is in memory; the alarm brings the object
 * back when it is not. It rings for leases, pauses, webhooks and the removal of old tasks.
 */
export interface ObjectAlarm {
  /** Sets the alarm if it would ring too late. Called after every write. */
  update(): void
  /** Waits until the runtime has taken up the work that is due, and sets the next alarm. */
  ring(): Promise<void>
}

export function createObjectAlarm({ storage }: ObjectState, log: Pick<DurableObjectLog, 'nextDue'>): ObjectAlarm {
  /** Unknown in a new instance, which sets it with its first write. */
  let ringsAt = Number.POSITIVE_INFINITY

  function set(): void {
    const due = log.nextDue()
    if (due === undefined) return
    ringsAt = Math.max(due, Date.now() + pollInterval)
    void storage.setAlarm(ringsAt)
  }

  return {
    update() {
      if (ringsAt > Date.now() + patience) set()
    },
    async ring() {
      const end = Date.now() + staysAwake
      while ((log.nextDue() ?? Number.POSITIVE_INFINITY) <= Date.now() && Date.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, pollInterval))
      }
      set()
    },
  }
}
