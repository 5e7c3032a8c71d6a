import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../core/base/logger.ts'

/** Delays between two attempts to reach a store, in milliseconds: each is twice as long as the one before. */
const delays = { min: 1_000, max: 10_000 }

export interface OutageOptions {
  /** What cannot be reached, for log lines and errors: "The task log in schema parley of PostgreSQL". */
  readonly subject: string
  /** Rejects if the store cannot be reached. */
  readonly probe: () => Promise<unknown>
  readonly logger: Logger
  /** Aborts when the store is closed. */
  readonly closed: AbortSignal
}

/** Notices that a store on another machine cannot be reached, tries again by itself, and logs both. */
export interface Outages {
  /** Whether the store cannot be reached, as far as is known. */
  readonly isOpen: boolean
  /** Milliseconds for which the store could not be reached. 0 if it can. */
  readonly duration: number
  /** To be called when a request could not reach the store. */
  begin(): void
  /** To be called when a request has reached the store. */
  end(): void
  /** See `TaskLog.whenLost`. */
  whenLost(patience: number, signal: AbortSignal): Promise<Error>
}

export function createOutages({ subject, probe, logger, closed }: OutageOptions): Outages {
  const watches = new Set<Watch>()
  let since: number | undefined
  let isProbing = false

  const elapsed = () => (since === undefined ? 0 : performance.now() - since)

  async function probeUntilReached(): Promise<void> {
    for (let failures = 0; since !== undefined && !closed.aborted; failures++) {
      try {
        await probe()
        end()
      } catch (error) {
        if (since === undefined || closed.aborted) return
        reportLost(error)
        const patience = Math.min(...[...watches].map((watch) => watch.patience - elapsed()))
        await waitFor(nextAttempt({ failures, patience, error, subject, logger }), closed, false)
      }
    }
  }

  function reportLost(error: unknown): void {
    for (const { patience, resolve } of watches) {
      if (elapsed() >= patience) resolve(new Error(`${subject} ${lostText(patience)}: ${messageOf(error)}`))
    }
  }

  function end(): void {
    if (since === undefined) return
    logger.info({ milliseconds: Math.round(elapsed()) }, `${subject} can be reached again`)
    since = undefined
  }

  return {
    get isOpen() {
      return since !== undefined
    },
    get duration() {
      return elapsed()
    },
    begin() {
      since ??= performance.now()
      if (isProbing) return
      isProbing = true
      void probeUntilReached().finally(() => {
        isProbing = false
      })
    },
    end,
    whenLost(patience, signal) {
      return new Promise((resolve) => {
        const watch = { patience, resolve }
        watches.add(watch)
        signal.addEventListener('abort', () => watches.delete(watch), { once: true })
      })
    },
  }
}

interface Watch {
  readonly patience: number
  readonly resolve: (error: Error) => void
}

export interface RetryOptions extends Pick<OutageOptions, 'subject' | 'logger' | 'closed'> {
  /** How long to try, in milliseconds. */
  readonly patience: number
  /** Whether another attempt may help. */
  readonly mayRetry: (error: unknown) => boolean
}

/** Repeats the work until the store can be reached. Unlike the attempts of an outage, it keeps the process alive. */
export async function retryUntilReached<T>(work: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { patience, mayRetry, closed } = options
  const begun = performance.now()
  for (let failures = 0; ; failures++) {
    try {
      return await work()
    } catch (error) {
      const left = patience - (performance.now() - begun)
      if (left <= 0 || closed.aborted || !mayRetry(error)) throw error
      await waitFor(nextAttempt({ ...options, failures, patience: left, error }), closed, true)
    }
  }
}

/** What a store has not done for so long. */
export function lostText(patience: number): string {
  return `could not be reached for ${patience} ms. Check that its server runs and can be reached from here`
}

interface Attempt extends Pick<OutageOptions, 'subject' | 'logger'> {
  readonly failures: number
  /** Milliseconds that are left. */
  readonly patience: number
  readonly error: unknown
}

/** Logs a failed attempt. Returns the delay before the next one, so that the last one is made when the time is over. */
function nextAttempt({ failures, patience, error, subject, logger }: Attempt): number {
  const delay = Math.min(delays.max, delays.min * 2 ** failures)
  const milliseconds = Math.ceil(patience > 0 ? Math.min(delay, patience) : delay)
  logger.warn({ error: messageOf(error), nextAttempt: milliseconds }, `${subject} cannot be reached; trying again`)
  return milliseconds
}

async function waitFor(milliseconds: number, signal: AbortSignal, ref: boolean): Promise<void> {
  await sleep(milliseconds, undefined, { signal, ref }).catch(() => {})
}

/** The text of an error. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // An AggregateError, as when no address of a host answers, has a code and no message.
  return error.message || ('code' in error ? String(error.code) : error.name)
}
