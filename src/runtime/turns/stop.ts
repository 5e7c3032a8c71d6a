import { type Clock, setAlarm, type Timer } from '../../base/clock.ts'
import type { RuntimeSettings } from '../options.ts'

/** Nothing that the work may still do is of use to anybody. */
const hopeless: readonly StopReason[] = ['lease-lost', 'differs', 'unanswered']

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
  /** More messages wait for it than may. */
  | 'crowded'
  | 'lease-lost'
  /** A question was not answered in time. */
  | 'unanswered'
  /** Its code does not fit its journal. */
  | 'differs'
  /** It waits for an answer, and no process does. */
  | 'paused'

export type Settled<T> = { readonly value: T } | { readonly error: unknown }

/** The brake of one turn. A class, and its signal made when it is asked for, because every turn has one. */
export class Stop {
  readonly #settings: Limits
  readonly #deadline: Timer | undefined
  readonly #unset: (() => void) | undefined
  #controller: AbortController | undefined
  #grace: Timer | undefined
  #leaveBehind: (() => void) | undefined
  #reason: StopReason | undefined
  #over = false

  constructor(settings: Limits, until?: number) {
    const { turnDeadline, clock } = settings
    this.#settings = settings
    if (turnDeadline !== undefined) this.#deadline = clock.setTimeout(() => this.stop('deadline'), turnDeadline)
    if (until !== undefined) this.#unset = setAlarm(clock, until, () => this.stop('expired'))
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason && this.#reason !== 'paused') this.#abort(this.#reason)
    }
    return this.#controller.signal
  }

  get reason(): StopReason | undefined {
    return this.#reason
  }

  /** Nothing that this turn emits is stored any more. */
  get isOver(): boolean {
    return this.#over
  }

  stop(why: StopReason): void {
    if (this.#reason || this.#over) return
    this.#leaveAfter(why, hopeless.includes(why) ? 0 : this.#settings.cancelGrace)
    this.#abort(why)
  }

  /** Leaves the work where it is, without telling it. */
  leave(why: 'paused'): void {
    if (this.#reason || this.#over) return
    this.#leaveAfter(why, 0)
  }

  /** How the work ended; undefined if it ignores the signal until the end of the grace period. */
  race<T>(work: Promise<T>): Promise<Settled<T> | undefined> {
    return new Promise((resolve) => {
      this.#leaveBehind = () => resolve(undefined)
      work.then(
        (value) => resolve({ value }),
        (error) => resolve({ error }),
      )
    })
  }

  close(): void {
    this.#over = true
    const { clock } = this.#settings
    clock.clearTimeout(this.#grace)
    clock.clearTimeout(this.#deadline)
    this.#unset?.()
  }

  #leaveAfter(why: StopReason, grace: number): void {
    this.#reason = why
    this.#grace = this.#settings.clock.setTimeout(() => this.#leaveBehind?.(), grace)
  }

  #abort(why: StopReason): void {
    this.#controller?.abort(new Error(`The turn is stopped: ${why}.`))
  }
}

/** What the caller reads when the task fails for that reason. */
export function stopText(reason: StopReason, settings: RuntimeSettings): string {
  const { turnDeadline, inactivityTimeout, queueLimit } = settings
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
    case 'crowded':
      return `More than ${queueLimit} messages waited for this task.`
    case 'canceled':
    case 'interrupted':
    case 'lease-lost':
    case 'unanswered':
    case 'differs':
    case 'paused':
      return 'The turn was stopped.'
  }
}

/** Notices a turn that gives no sign of life. */
export interface InactivityTimer {
  /** A sign of life. It costs nothing but a look at the clock, for a turn may give very many. */
  touch(): void
  /** It waits for its caller, which may take long. */
  hold(): void
  close(): void
}

export function createInactivityTimer(clock: Clock, timeout: number, onIdle: () => void): InactivityTimer {
  let last = clock.now()
  let timer: Timer | undefined = clock.setTimeout(look, timeout)

  function look(): void {
    const left = last + timeout - clock.now()
    if (left <= 0) onIdle()
    else timer = clock.setTimeout(look, left)
  }

  return {
    touch() {
      last = clock.now()
      timer ??= clock.setTimeout(look, timeout)
    },
    hold() {
      clock.clearTimeout(timer)
      timer = undefined
    },
    close: () => clock.clearTimeout(timer),
  }
}

type Limits = Pick<RuntimeSettings, 'cancelGrace' | 'turnDeadline' | 'clock'>
