/** The headers of a delivery, in lower case. */
export const pushHeaders = {
  /** Credentials of the config, or a signed token. */
  authorization: 'authorization',
  /** The token of the config. */
  token: 'x-a2a-notification-token',
  /** Identifies the delivery; the same for every attempt. */
  deliveryId: 'x-a2a-delivery-id',
  /** The generation of the event. Deliveries are sent in this order; events that are not sent leave gaps. */
  generation: 'x-a2a-generation',
  /** The generation delivered before this one, or 0. It distinguishes lost deliveries from events that were not sent. */
  previous: 'x-a2a-previous-generation',
  taskId: 'x-a2a-task-id',
  /** The number of the attempt, starting at 1. */
  attempt: 'x-a2a-attempt',
  /** A signed token, if `authorization` carries the credentials of the config. */
  signature: 'x-a2a-signature',
  /** At registration: a text that the receiver must repeat to prove that it owns the URL. */
  challenge: 'x-a2a-challenge',
  /** W3C Trace Context. */
  traceparent: 'traceparent',
  tracestate: 'tracestate',
} as const

/** The HTTP request of one delivery attempt. */
export interface PushRequest<Body = string> {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
}

/** Returns headers that authenticate the sender. Called for every attempt. */
export type SignPush<Body = string> = (request: PushRequest<Body>) => Promise<Readonly<Record<string, string>>>

/** A delivery attempt that is under way. */
export interface SentPost {
  readonly response: Promise<PostResponse>
  /** Ends the request. If there is no response yet, it rejects with the reason. */
  abort(reason: unknown): void
}

/** The head of a receiver's response. */
export interface PostResponse {
  readonly status: number
  /** The header `Retry-After`. */
  readonly retryAfter: string | undefined
  /** Resolves when the body was read and discarded, up to a limit. It never rejects. */
  readonly discarded: Promise<void>
}

/** Sends one `POST` whose response body does not matter. */
export type SendPost = (request: PushRequest) => SentPost
