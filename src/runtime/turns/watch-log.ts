import type { RuntimeSettings } from '../options.ts'
import type { Writer } from './writer.ts'

/** Milliseconds until a failed read of the log is repeated. */
const pauseAfterError = 1_000

export interface WatchOptions {
  readonly taskId: string
  readonly signal: AbortSignal
  readonly onError: (error: unknown) => void
}

/** Lets a writer read what other processes append to the log of its task, until the signal aborts. Never rejects. */
export async function watchLog(
  writer: Writer,
  { log, clock }: Pick<RuntimeSettings, 'log' | 'clock'>,
  { taskId, signal, onError }: WatchOptions,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const before = writer.generation
      await log.wait(taskId, before, signal)
      await writer.settled()
      // If the writer has moved on, the events are its own, or it has read the others before its append.
      if (writer.generation === before && !signal.aborted) await writer.sync()
    } catch (error) {
      onError(error)
      await new Promise<void>((resolve) => clock.setTimeout(resolve, pauseAfterError))
    }
  }
}
