import { linkSignals } from '../base/abort.ts'
import { type Clock, isTimeout } from '../base/clock.ts'
import { SlotMap } from '../base/slot-map.ts'
import { A2AError, StoreUnavailable } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Principal } from '../protocol/model.ts'
import type { Call } from '../protocol/service.ts'

/** A stream that is open in this process. The operation that opened it says what is known of it. */
export interface OpenStream {
  /** Undefined until the message of the stream is accepted. */
  taskId: string | undefined
  /** The last event was sent, so whatever happens now does not concern the reader. */
  isOver: boolean
  /** Called when the reader has disconnected before the last event. */
  onDisconnect?: () => Promise<void>
}

/** The streams that are open in this process. */
export interface OpenStreams {
  /**
   * Opens a stream. It ends when the server shuts down, and with an error when the caller's credentials expire or the
   * store fails: its reader would wait for events that it may not see, or that cannot be stored. It can be resumed.
   */
  open<T extends StreamEvent>(call: Call, open: Open<T>): AsyncGenerator<T, void>
  /** Ends the streams of a task whose events could not be stored. */
  failTask(taskId: string, error: unknown): void
  /** Ends all streams if the error is one of the store. */
  failAll(error: unknown): void
}

/** Opens the events of a stream, or rejects the call. */
export type Open<T> = (call: Call, stream: OpenStream) => AsyncGenerator<T, void> | Promise<AsyncGenerator<T, void>>

export function createOpenStreams(closing: AbortSignal, clock: Clock): OpenStreams {
  const streams = new SlotMap<OpenStream, (error: unknown) => void>()

  return {
    async *open(call, open) {
      const { signal, abort, release } = linkSignals([call.signal, closing])
      const stream: OpenStream = { taskId: undefined, isOver: false }
      let failure: { readonly error: unknown } | undefined
      const fail = (error: unknown) => {
        failure ??= { error }
        abort()
      }
      const left = timeLeft(call.principal, clock)
      const timer = left === undefined ? undefined : clock.setTimeout(() => fail(credentialsExpired()), left)
      streams.set(stream, fail)
      try {
        yield* await open({ ...call, signal }, stream)
      } finally {
        streams.delete(stream)
        clock.clearTimeout(timer)
        release()
        if (call.signal.aborted && !stream.isOver) await stream.onDisconnect?.()
      }
      if (failure && !stream.isOver && !call.signal.aborted) throw failure.error
    },
    failTask(taskId, error) {
      for (const [stream, fail] of streams) if (stream.taskId === taskId) fail(error)
    },
    failAll(error) {
      if (!(error instanceof StoreUnavailable)) return
      for (const fail of streams.values()) fail(error)
    },
  }
}

/** The client obtains new credentials and resumes: see `isTransient`. */
function credentialsExpired(): A2AError {
  const text = 'The credentials of this stream have expired. Subscribe to the task again with new ones.'
  return new A2AError('unauthenticated', text, { metadata: { reason: 'credentials-expired' } })
}

/** Milliseconds until the credentials expire. Undefined if that is further away than timers reach. */
function timeLeft({ expires }: Principal, clock: Clock): number | undefined {
  const left = expires === undefined ? Number.POSITIVE_INFINITY : expires - clock.now()
  return isTimeout(left) ? Math.max(left, 0) : undefined
}
