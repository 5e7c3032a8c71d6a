import type { StreamEvent } from '../../protocol/events.ts'
import type { Notice } from '../options.ts'

/** Milliseconds between the first and the last status below which a stream shows nothing. */
const minDuration = 2_000

/** Detects whether something between the agent and the client holds the events of a stream back. */
export interface BufferingDetector {
  record(event: StreamEvent): void
  /** The notice to emit at the end of the stream, if its events were held back. */
  result(): Notice | undefined
}

export function createBufferingDetector(now: () => number): BufferingDetector {
  let first: { readonly sentAt: number; readonly receivedAt: number } | undefined
  let last = first
  return {
    record(event) {
      const status = event.type === 'task' ? event.task.status : event.type === 'status' ? event.status : undefined
      const sentAt = Date.parse(status?.timestamp ?? '')
      if (Number.isNaN(sentAt)) return
      last = { sentAt, receivedAt: now() }
      first ??= last
    },
    result() {
      if (!first || !last) return undefined
      // Only durations are compared, because the clocks of both sides need not agree.
      const duration = last.sentAt - first.sentAt
      if (duration < minDuration || last.receivedAt - first.receivedAt > duration / 10) return undefined
      return {
        type: 'buffered',
        message: `The events of ${Math.round(duration / 1000)} seconds arrived all at once.`,
        hint: 'A proxy on the way holds events back: switch off buffering and compression for text/event-stream.',
      }
    },
  }
}
