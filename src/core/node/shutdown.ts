import { constants } from 'node:os'
import type { Logger } from '../base/logger.ts'
import { loggedError } from '../protocol/errors.ts'

const signalNames = ['SIGTERM', 'SIGINT'] as const

type SignalName = (typeof signalNames)[number]

export interface ShutdownOptions {
  /** Closes the server. Called once. */
  readonly stop: (times: ShutdownTimes, reason: string) => Promise<void>
  /** Time from the beginning of the shutdown to the end of the process, in milliseconds. */
  readonly drainDeadline: number
  /** Whether SIGTERM and SIGINT close the server and end the process. */
  readonly handlesSignals: boolean
  readonly logger: Logger
}

/** How long each part of a shutdown may take, in milliseconds. */
export interface ShutdownTimes {
  /** Running turns finish. */
  readonly turns: number
  /** Stopped turns end, and what they have done is stored. */
  readonly stoppedTurns: number
  /** Callers read the end of their responses. */
  readonly readers: number
}

/** A shutdown that is shorter could not even store how turns have ended. In milliseconds. */
const shortest = 3_000

/** Divides the time. The logs are closed in the rest of it. */
function timesFor(drainDeadline: number): ShutdownTimes & { readonly total: number } {
  const total = Math.max(drainDeadline, shortest)
  const closing = Math.max(0.3 * total, 2_000)
  return {
    total,
    turns: Math.min(drainDeadline, total - closing),
    stoppedTurns: 0.5 * closing,
    readers: 0.35 * closing,
  }
}

/** Closes a server once, whatever the reason, and ends the process in time if a signal or a failure is the reason. */
export interface Shutdown {
  /** Rejects if the server is not closed at the deadline. */
  close(): Promise<void>
  /** Ends the process with exit code 1, unless the application handles signals itself: then it only logs the reason. */
  fail(error: Error): void
}

export function createShutdown({ stop, drainDeadline, handlesSignals, logger }: ShutdownOptions): Shutdown {
  const { total, ...times } = timesFor(drainDeadline)
  let closing: Promise<void> | undefined
  let isEnding = false

  function close(reason = 'close()'): Promise<void> {
    closing ??= within(total, stop(times, reason)).finally(() => {
      for (const name of signalNames) process.off(name, onSignal)
    })
    return closing
  }

  /** From now on, the process ends at the deadline, even if an agent never stops or keeps a connection open. */
  function end(reason: string): void {
    isEnding = true
    const timer = setTimeout(() => {
      logger.warn({ drainDeadline }, 'the process ends now: something in it did not stop in time')
      process.exit()
    }, total)
    close(reason)
      .catch((error) => {
        logger.error({ error: loggedError(error) }, 'the server could not be closed cleanly')
        process.exitCode = 1
      })
      // The process may end earlier, as soon as nothing is left to do.
      .finally(() => timer.unref())
  }

  function onSignal(name: SignalName): void {
    if (!isEnding) {
      end(name)
      return
    }
    logger.warn({ signal: name }, 'stopped at once by a second signal: the next start recovers unfinished tasks')
    process.exit(128 + constants.signals[name])
  }

  if (handlesSignals) for (const name of signalNames) process.on(name, onSignal)

  return {
    close: () => close(),
    fail(error) {
      logger.error({}, handlesSignals ? `the process ends: ${error.message}` : error.message)
      if (!handlesSignals || isEnding) return
      process.exitCode = 1
      end('the task log is lost')
    },
  }
}

async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const text = `The server was not closed within ${milliseconds} ms (drainDeadline): an agent, a webhook or the task log does not stop.`
  const timer = setTimeout(() => reject(new Error(text)), milliseconds)
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
