import { type Clock, setAlarm, type Timer } from '../../base/clock.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { lineageExtension, readLineage } from '../../protocol/extensions/lineage.ts'
import type { RuntimeSettings } from '../options.ts'

/** Nothing that the agent could still do would be stored, so it gets no grace period. */
const withoutGrace: readonly StopReason[] = ['lease-lost', 'events-lost', 'differs', 'unanswered']

/** Why a turn is stopped from outside. */
export type StopReason =
  | 'canceled'
  /** A new message interrupts it (`whileBusy`). */
  | 'interrupted'
  /** The turn exceeded `turnDeadline`. */
  | 'deadline'
  /** The deadline that the caller set has passed. */
  | 'expired'
  /** The turn exceeded `inactivityTimeout`. */
  | 'inactive'
  | 'shutdown'
  /** The agent emits events faster than they are stored. */
  | 'flooded'
  /** The caller has used up its limit of tokens or cost. */
  | 'limit'
  /** More messages than `queueLimit` wait for the task. */
  | 'crowded'
  | 'lease-lost'
  /** The store failed, and events of the turn are lost. */
  | 'events-lost'
  /** A question was not answered in time. */
  | 'unanswered'
  /** The code does not match the journal. */
  | 'differs'
  /** The turn waits for an answer, and no process waits with it. */
  | 'paused'

export type Settled<T> = { readonly value: T } | { readonly error: unknown }

/** Stops one turn. A class with a lazily created signal, because there is one for every turn. */
export class Stop {
  readonly #settings: StopSettings
  readonly #deadline: Timer | undefined
  readonly #clearAlarm: (() => void) | undefined
  #controller: AbortController | undefined
  #grace: Timer | undefined
  #abandonWork: (() => void) | undefined
  #reason: StopReason | undefined
  #isOver = false

  /** `expiresAt`: the deadline that the caller set, in milliseconds since 1970. */
  constructor(settings: StopSettings, expiresAt?: number) {
    const { turnDeadline, clock } = settings
    this.#settings = settings
    if (turnDeadline !== undefined) this.#deadline = clock.setTimeout(() => this.stop('deadline'), turnDeadline)
    if (expiresAt !== undefined) this.#clearAlarm = setAlarm(clock, expiresAt, () => this.stop('expired'))
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

  /** Events that the turn emits are no longer stored. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Why code that continues after its turn cannot emit anything. */
  overText(taskId: string): string {
    return `This turn of task ${taskId} is over (${this.#reason ?? 'it has returned'}).`
  }

  /** Aborts the signal, and abandons the work after the grace period. Defaults to `cancelGrace`. */
  stop(reason: StopReason, grace = this.#settings.cancelGrace): void {
    if (this.#reason || this.#isOver) return
    this.#abandonAfter(reason, withoutGrace.includes(reason) ? 0 : grace)
    this.#abort(reason)
  }

  /** Abandons the work without aborting the signal. */
  leave(reason: 'paused'): void {
    if (this.#reason || this.#isOver) return
    this.#abandonAfter(reason, 0)
  }

  /** Resolves with how the work ended, or with undefined if it was abandoned. */
  race<T>(work: Promise<T>): Promise<Settled<T> | undefined> {
    return new Promise((resolve) => {
      this.#abandonWork = () => resolve(undefined)
      work.then(
        (value) => resolve({ value }),
        (error) => resolve({ error }),
      )
    })
  }

  close(): void {
    this.#isOver = true
    const { clock } = this.#settings
    clock.clearTimeout(this.#grace)
    clock.clearTimeout(this.#deadline)
    this.#clearAlarm?.()
  }

  #abandonAfter(reason: StopReason, grace: number): void {
    this.#reason = reason
    this.#grace = this.#settings.clock.setTimeout(() => this.#abandonWork?.(), grace)
  }

  #abort(reason: StopReason): void {
    this.#controller?.abort(new Error(`The turn is stopped: ${reason}.`))
  }
}

/** The deadline that the caller set for its message, in milliseconds since 1970. */
export function deadlineOf({ message }: MessageEvent, { calls }: RuntimeSettings): number | undefined {
  const { metadata } = message
  return metadata?.[lineageExtension] === undefined ? undefined : readLineage(metadata, calls.self.ids).deadline
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
    case 'events-lost':
      return 'Results of the agent could not be stored, so the task cannot be completed. Please send it again.'
    case 'limit':
      return 'The caller has used up its limit of tokens or cost.'
    case 'canceled':
    case 'interrupted':
    case 'lease-lost':
    case 'unanswered':
    case 'differs':
    case 'paused':
      return 'The turn was stopped.'
  }
}

/** Calls back when a turn has neither emitted an event nor run a step for too long. */
export interface InactivityTimer {
  /** Restarts the time. Only reads the clock, because a turn may call it for every event. */
  touch(): void
  /** Suspends the timer until the next `touch`: the turn waits for its caller. */
  hold(): void
  close(): void
}

export function createInactivityTimer(clock: Clock, timeout: number, onTimeout: () => void): InactivityTimer {
  let last = clock.now()
  let timer: Timer | undefined = clock.setTimeout(check, timeout)

  function check(): void {
    const left = last + timeout - clock.now()
    if (left <= 0) onTimeout()
    else timer = clock.setTimeout(check, left)
  }

  return {
    touch() {
      last = clock.now()
      timer ??= clock.setTimeout(check, timeout)
    },
    hold() {
      clock.clearTimeout(timer)
      timer = undefined
    },
    close: () => clock.clearTimeout(timer),
  }
}

type StopSettings = Pick<RuntimeSettings, 'cancelGrace' | 'turnDeadline' | 'clock'>
