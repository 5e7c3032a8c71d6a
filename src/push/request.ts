/** What a delivery says in its head, by the names that sender and receiver share. HTTP takes them in any case. */
export const pushHeaders = {
  /** By the scheme and the credentials of the config, or by a signature. */
  authorization: 'authorization',
  /** The token of the config, word for word. */
  token: 'x-a2a-notification-token',
  /** The same for every attempt of one delivery: who has seen it has seen the delivery. */
  deliveryId: 'x-a2a-delivery-id',
  /** Which event of the task it tells. They come in this order, and those that are not told leave holes. */
  generation: 'x-a2a-generation',
  /** The one that was told before it, or 0: so the holes are known that are none. */
  previous: 'x-a2a-previous-generation',
  taskId: 'x-a2a-task-id',
  /** From 1. */
  attempt: 'x-a2a-attempt',
  /** A token that signs the delivery, where `authorization` has something else. */
  signature: 'x-a2a-signature',
  /** At registration: a text that the owner of the address answers with. */
  challenge: 'x-a2a-challenge',
  /** Of W3C Trace Context. */
  traceparent: 'traceparent',
  tracestate: 'tracestate',
} as const

/** A delivery as it is about to be sent. */
export interface PushRequest<Body = string> {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
}

/** Gives the headers by which the receiver knows who sent it. Every attempt is signed anew. */
export type SignPush<Body = string> = (request: PushRequest<Body>) => Promise<Readonly<Record<string, string>>>
