import type { StreamEvent } from '../../protocol/events.ts'
import type { Notice } from '../options.ts'

/** Milliseconds between the first and the last status: shorter streams show nothing. */
const longEnough = 2_000

/** Watches whether the events of a stream come when they happen. */
export interface BufferingDetector {
  note(event: StreamEvent): void
  /** At its end: what it shows, if it shows anything. */
  result(): Notice | undefined
}

export function createBufferingDetector(now: () => number): BufferingDetector {
  let first: { readonly told: number; readonly came: number } | undefined
  let last = first
  return {
    note(event) {
      const status = event.type === 'task' ? event.task.status : event.type === 'status' ? event.status : undefined
      const told = Date.parse(status?.timestamp ?? '')
      if (Number.isNaN(told)) return
      last = { told, came: now() }
      first ??= last
    },
    result() {
      if (!first || !last) return undefined
      const took = last.told - first.told
      // The clocks of both sides need not agree: only how long it took is compared.
      if (took < longEnough || last.came - first.came > took / 10) return undefined
      return {
        type: 'buffered',
        message: `What the agent told over ${Math.round(took / 1000)} seconds came all at once.`,
        hint: 'A proxy on the way holds events back: switch off buffering and compression for text/event-stream.',
      }
    },
  }
}
