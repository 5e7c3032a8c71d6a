import type { DialectName } from '../../dialects/dialect.ts'
import type { StreamEvent } from '../../protocol/events.ts'

/** What an agent told this receiver. */
export interface PushDelivery {
  /** As a stream of the task would have it, whatever the agent speaks. */
  readonly event: StreamEvent
  /** Of the payload. */
  readonly dialect: DialectName
  /** Undefined only for a message that belongs to no task. */
  readonly taskId?: string
  /** The same for every attempt of one delivery. Agents that are not Parley's may tell none. */
  readonly deliveryId?: string
  /** The number of the event in its task. */
  readonly generation?: number
  readonly attempt?: number
  /** Of W3C Trace Context. */
  readonly traceparent?: string
  readonly tracestate?: string
  /** By which `register()` it came; undefined for tokens of your own and for deliveries that are only signed. */
  readonly registration?: string
  /** Who signed it. */
  readonly issuer?: string
  /** Events between these numbers did not come in time: ask for the task, if they matter. */
  readonly missing?: Missing
  /** Events that follow it were told before, since it was held up for too long. */
  readonly isLate?: boolean
}

/** What is between these two did not come; the second is the delivery that says so. */
export interface Missing {
  readonly after: number
  readonly before: number
}
