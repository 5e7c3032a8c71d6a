import type { Timer } from '../protocol/clock.ts'
import type { Mutable } from '../tasks/mutable.ts'
import { setAlarm } from './alarm.ts'
import type { RuntimeSettings } from './options.ts'

/** Why a turn is stopped from outside. */
export type StopReason =
  | 'canceled'
  | 'interrupted'
  | 'deadline'
  /** The one that its caller has set. */
  | 'expired'
  | 'inactive'
  | 'shutdown'
  | 'flooded'
  | 'lease-lost'
  /** A question was not answered in time. */
  | 'unanswered'
  /** Its code does not fit its journal. */
  | 'differs'
  /** It waits for an answer, and no process does. */
  | 'paused'

/** The brake of one turn. */
export interface Stop {
  readonly signal: AbortSignal
  readonly reason: StopReason | undefined
  /** Nothing that this turn emits is stored any more. */
  readonly over: boolean
  stop(reason: StopReason): void
  /** Leaves the work where it is, without telling it. */
  leave(reason: StopReason): void
  /** How the work ended; undefined if it ignores the signal until the end of the grace period. */
  race<T>(work: Promise<T>): Promise<Ended<T> | undefined>
  close(): void
}

export type Ended<T> = { readonly value: T } | { readonly error: unknown }

/** Nothing that the work may still do is of use to anybody. */
const hopeless: readonly StopReason[] = ['lease-lost', 'differs', 'unanswered']

export function createStop({ cancelGrace, turnDeadline, clock }: RuntimeSettings, until?: number): Stop {
  const controller = new AbortController()
  let grace: Timer | undefined
  let leaveBehind = () => {}

  function stop(why: StopReason): void {
    if (brake.reason || brake.over) return
    brake.reason = why
    grace = clock.setTimeout(() => leaveBehind(), hopeless.includes(why) ? 0 : cancelGrace)
    controller.abort(new Error(`The turn is stopped: ${why}.`))
  }
  const deadline = turnDeadline === undefined ? undefined : clock.setTimeout(() => stop('deadline'), turnDeadline)

  const unset = until === undefined ? undefined : setAlarm(clock, until, () => stop('expired'))

  const brake: Mutable<Stop> = {
    signal: controller.signal,
    reason: undefined,
    over: false,
    stop,
    leave(why) {
      if (brake.reason || brake.over) return
      brake.reason = why
      grace = clock.setTimeout(() => leaveBehind(), 0)
    },
    race: (work) =>
      new Promise((resolve) => {
        leaveBehind = () => resolve(undefined)
        work.then(
          (value) => resolve({ value }),
          (error) => resolve({ error }),
        )
      }),
    close() {
      brake.over = true
      clock.clearTimeout(grace)
      clock.clearTimeout(deadline)
      unset?.()
    },
  }
  return brake
}

/** What the caller reads when the task fails for that reason. */
export function stopText(reason: StopReason, { turnDeadline, inactivityTimeout }: RuntimeSettings): string {
  switch (reason) {
    case 'deadline':
      return `The agent did not finish within its deadline of ${turnDeadline} ms.`
    case 'expired':
      return 'The time that the caller gave for this has passed.'
    case 'inactive':
      return `The agent gave no sign of life for ${inactivityTimeout} ms.`
    case 'shutdown':
      return 'The server shut down before the agent had finished. Please send it again.'
    case 'flooded':
      return 'The agent produced results faster than they could be stored.'
    case 'canceled':
    case 'interrupted':
    case 'lease-lost':
    case 'unanswered':
    case 'differs':
    case 'paused':
      return 'The turn was stopped.'
  }
}
