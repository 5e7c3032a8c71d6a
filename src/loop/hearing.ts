import { A2AError } from '../protocol/errors.ts'
import type { Brake } from './brake.ts'

/** Cuts a model off that says nothing any more, or that nobody wants to hear. After that it is not asked again. */
export interface Hearing {
  readonly signal: AbortSignal
  /** From now on, until it is told to rest, silence counts. */
  listen(): void
  rest(): void
  heard(): void
  /** Called when it is cut. One at a time: a model is asked once at a time. */
  whenCut: ((reason: unknown) => void) | undefined
  close(): void
}

/** Cut between one and two times that silence: a word costs no more than being counted. */
export function createHearing(brake: Brake, silence: number): Hearing {
  const controller = new AbortController()
  let timer: ReturnType<typeof setInterval> | undefined
  let isListening = false
  let words = 0
  let before = 0

  function cut(reason: unknown): void {
    controller.abort(reason)
    hearing.whenCut?.(reason)
  }

  /** Steps follow each other faster than it looks: the timer of one does for the next. */
  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function look(): void {
    if (!isListening) stop()
    else if (words === before) cut(new A2AError('timeout', `The model said nothing for ${silence / 1000} seconds.`))
    before = words
  }

  const release = brake.onStop(cut)
  const hearing: Hearing = {
    signal: controller.signal,
    whenCut: undefined,
    listen() {
      words++
      isListening = true
      if (Number.isFinite(silence)) timer ??= setInterval(look, silence)
    },
    rest() {
      isListening = false
    },
    heard: () => void words++,
    close() {
      stop()
      release()
    },
  }
  return hearing
}
