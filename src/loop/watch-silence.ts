import { A2AError } from '../protocol/errors.ts'

/** Cuts a model off that says nothing any more, or that nobody wants to hear. */
export interface SilenceWatch {
  readonly signal: AbortSignal
  heard(): void
  /** What it gives, unless it is cut first. */
  orCut<T>(work: PromiseLike<T>): Promise<T>
  onCut(act: () => void): void
  throwIfCut(): void
  close(): void
}

/** Cut between one and two times that silence: a word costs no more than being counted. */
export function watchSilence(outer: AbortSignal, silence: number): SilenceWatch {
  const controller = new AbortController()
  const { signal } = controller
  let words = 0
  let before = 0

  const look = () => {
    if (words > before) before = words
    else controller.abort(new A2AError('timeout', `The model said nothing for ${silence / 1000} seconds.`))
  }
  const leave = () => controller.abort(outer.reason)
  const timer = Number.isFinite(silence) ? setInterval(look, silence) : undefined
  outer.addEventListener('abort', leave, { once: true })
  if (outer.aborted) leave()

  return {
    signal,
    heard: () => void words++,
    async orCut(work) {
      const { promise: cut, reject } = Promise.withResolvers<never>()
      const stop = () => reject(signal.reason)
      signal.addEventListener('abort', stop, { once: true })
      if (signal.aborted) stop()
      try {
        return await Promise.race([work, cut])
      } finally {
        signal.removeEventListener('abort', stop)
      }
    },
    onCut: (act) => signal.addEventListener('abort', act, { once: true }),
    throwIfCut: () => signal.throwIfAborted(),
    close() {
      clearInterval(timer)
      outer.removeEventListener('abort', leave)
    },
  }
}
