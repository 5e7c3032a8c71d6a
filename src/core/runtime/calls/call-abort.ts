import { type Clock, setAlarm } from '../../base/clock.ts'

/** Why a call is aborted: its turn stopped, its caller gave it up, or its time is over. */
export type AbortCause = 'stopped' | 'canceled' | 'timeout'

export interface CallAbortOptions {
  /** The signal of the turn. */
  readonly turn: AbortSignal
  /** The signal of the call. */
  readonly signal: AbortSignal | undefined
  readonly clock: Clock
}

export interface CallAbort {
  readonly cause: AbortCause | undefined
  readonly signal: AbortSignal
  abort(cause: AbortCause): void
  /** Aborts the call at a time in milliseconds since 1970. */
  abortAt(deadline: number): void
  release(): void
}

export function createCallAbort({ turn, signal, clock }: CallAbortOptions): CallAbort {
  const controller = new AbortController()
  let firstCause: AbortCause | undefined
  let clearAlarm = () => {}

  function abort(cause: AbortCause): void {
    firstCause ??= cause
    controller.abort(cause)
  }
  const onTurn = () => abort('stopped')
  const onSignal = () => abort('canceled')
  turn.addEventListener('abort', onTurn)
  signal?.addEventListener('abort', onSignal)
  if (turn.aborted) onTurn()
  if (signal?.aborted) onSignal()

  return {
    get cause() {
      return firstCause
    },
    signal: controller.signal,
    abort,
    abortAt(deadline) {
      clearAlarm = setAlarm(clock, deadline, () => abort('timeout'))
    },
    release() {
      clearAlarm()
      turn.removeEventListener('abort', onTurn)
      signal?.removeEventListener('abort', onSignal)
    },
  }
}

/** Resolves with the result of the work, or with `aborted` if the call is aborted first. */
export async function orAborted<T>({ signal }: CallAbort, work: Promise<T>): Promise<T | 'aborted'> {
  if (signal.aborted) {
    work.catch(() => {}) // its failure is of no interest any more
    return 'aborted'
  }
  const { promise, resolve } = Promise.withResolvers<'aborted'>()
  const onAbort = () => resolve('aborted')
  signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
