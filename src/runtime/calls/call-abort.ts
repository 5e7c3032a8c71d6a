import { type Clock, setAlarm } from '../../base/clock.ts'

export interface CallAbortOptions {
  /** Of the turn. */
  readonly turn: AbortSignal
  /** Of the call. */
  readonly signal: AbortSignal | undefined
  readonly clock: Clock
}

/** Why a call is given up. */
export type AbortCause = 'stopped' | 'canceled' | 'timeout'

export interface CallAbort {
  readonly cause: AbortCause | undefined
  readonly signal: AbortSignal
  abort(why: AbortCause): void
  release(): void
}

/** Gives a call up when its turn is stopped, when its caller says so, or when its time is over. */
export function createCallAbort({
  turn,
  signal,
  clock,
}: CallAbortOptions): CallAbort & { until(deadline: number): void } {
  const controller = new AbortController()
  let halt: AbortCause | undefined
  let unset = () => {}

  function abort(why: AbortCause): void {
    halt ??= why
    controller.abort(why)
  }
  const onTurn = () => abort('stopped')
  const onSignal = () => abort('canceled')
  turn.addEventListener('abort', onTurn)
  signal?.addEventListener('abort', onSignal)
  if (turn.aborted) onTurn()
  if (signal?.aborted) onSignal()

  return {
    get cause() {
      return halt
    },
    signal: controller.signal,
    abort,
    until(deadline) {
      unset = setAlarm(clock, deadline, () => abort('timeout'))
    },
    release() {
      unset()
      turn.removeEventListener('abort', onTurn)
      signal?.removeEventListener('abort', onSignal)
    },
  }
}

/** What comes first; `halted` if the call is given up before. */
export async function orAborted<T>({ signal }: CallAbort, work: Promise<T>): Promise<T | 'halted'> {
  if (signal.aborted) {
    // Nobody waits for it any more, nor for how it fails.
    work.catch(() => {})
    return 'halted'
  }
  const { promise, resolve } = Promise.withResolvers<'halted'>()
  const onHalt = () => resolve('halted')
  signal.addEventListener('abort', onHalt)
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', onHalt)
  }
}
