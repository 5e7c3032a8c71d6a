import type { Incoming } from '../../http/exchange.ts'
import { A2AError } from '../../protocol/errors.ts'

/** How long a caller waits for its answer. */
export interface Deadline {
  /** The call. Its signal also aborts when the deadline has passed. */
  readonly incoming: Incoming
  hasPassed(): boolean
  /** The work, or an error as soon as the deadline passes: work need not heed its signal. */
  limit<T>(work: Promise<T>): Promise<T>
  /** Lets go of the timer. */
  release(): void
}

/** By the `grpc-timeout` of the call: up to eight digits and a unit. Others are ignored, as servers in C++ do. */
export function startDeadline(incoming: Incoming): Deadline {
  const milliseconds = readTimeout(incoming.header('grpc-timeout'))
  if (milliseconds === undefined) return { incoming, hasPassed: never, limit: unlimited, release: nothing }
  const caller = incoming.signal
  const controller = new AbortController()
  const { signal } = controller
  let passed = false
  const pass = (): void => {
    passed = true
    controller.abort(deadlinePassed())
  }
  const leave = (): void => controller.abort(caller.reason)
  const timer = setTimeout(pass, milliseconds)
  if (caller.aborted) leave()
  caller.addEventListener('abort', leave)
  return {
    incoming: withSignal(incoming, signal),
    hasPassed: () => passed,
    limit: (work) =>
      new Promise((resolve, reject) => {
        const giveUp = (): void => reject(signal.reason)
        if (signal.aborted) giveUp()
        signal.addEventListener('abort', giveUp)
        work.then(resolve, reject)
      }),
    release() {
      clearTimeout(timer)
      caller.removeEventListener('abort', leave)
    },
  }
}

// Made once: most calls have no deadline.
const never = (): boolean => false
const unlimited = <T>(work: Promise<T>): Promise<T> => work
const nothing = (): void => {}

function withSignal(incoming: Incoming, signal: AbortSignal): Incoming {
  const { method, path, query, base, secure } = incoming
  const header: Incoming['header'] = (name) => incoming.header(name)
  const bytes: Incoming['bytes'] = (limit) => incoming.bytes(limit)
  const certificate = () => incoming.certificate()
  return { method, path, query, base, secure, header, bytes, signal, certificate }
}

export function deadlinePassed(): A2AError {
  return new A2AError('timeout', 'The deadline of the call has passed.')
}

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** Beyond it timers fire at once. */
const longest = 2 ** 31 - 1

/** In milliseconds. */
function readTimeout(timeout: string | undefined): number | undefined {
  if (timeout === undefined) return undefined
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? []
  const length = units[unit]
  return length === undefined ? undefined : Math.min(Number(digits) * length, longest)
}
