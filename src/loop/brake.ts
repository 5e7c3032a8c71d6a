/** Who must know when a signal aborts. One listener for all of them: those of a signal cost more than a step does. */
export interface Brake {
  readonly signal: AbortSignal
  /** Gives the means to call it off. */
  onStop(act: (reason: unknown) => void): () => void
  close(): void
}

export function createBrake(signal: AbortSignal): Brake {
  const acts = new Set<(reason: unknown) => void>()
  const stop = () => {
    for (const act of [...acts]) act(signal.reason)
  }
  signal.addEventListener('abort', stop, { once: true })
  return {
    signal,
    onStop(act) {
      if (signal.aborted) act(signal.reason)
      else acts.add(act)
      return () => void acts.delete(act)
    },
    close: () => signal.removeEventListener('abort', stop),
  }
}
