import { A2AError } from '../../protocol/errors.ts'
import { StatusError } from './status.ts'

/** How long a caller waits for its answer. */
export interface Deadline {
  /** Aborts when the caller has gone, or the deadline has passed. */
  readonly signal: AbortSignal
  hasPassed(): boolean
  /** The work, or an error as soon as the deadline passes: work need not heed its signal. */
  limit<T>(work: Promise<T>): Promise<T>
  /** Lets go of the timer. */
  release(): void
}

/** `timeout` is a `grpc-timeout`: up to eight digits and a unit. */
export function startDeadline(timeout: string | undefined, caller: AbortSignal): Deadline {
  if (timeout === undefined) return { signal: caller, hasPassed: () => false, limit: (work) => work, release() {} }
  const controller = new AbortController()
  const { signal } = controller
  let passed = false
  const pass = (): void => {
    passed = true
    controller.abort(deadlinePassed())
  }
  const leave = (): void => controller.abort(caller.reason)
  const timer = setTimeout(pass, milliseconds(timeout))
  if (caller.aborted) leave()
  caller.addEventListener('abort', leave)
  return {
    signal,
    hasPassed: () => passed,
    limit: (work) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        work.then(resolve, reject)
      }),
    release() {
      clearTimeout(timer)
      caller.removeEventListener('abort', leave)
    },
  }
}

export function deadlinePassed(): A2AError {
  return new A2AError('timeout', 'The deadline of the call has passed.')
}

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** Beyond it timers fire at once. */
const longest = 2 ** 31 - 1

function milliseconds(timeout: string): number {
  const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? []
  const length = units[unit]
  if (digits === undefined || length === undefined) {
    throw new StatusError('INVALID_ARGUMENT', 'grpc-timeout must be up to eight digits and one of H, M, S, m, u, n.')
  }
  return Math.min(Number(digits) * length, longest)
}
