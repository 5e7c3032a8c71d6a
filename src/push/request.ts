/** A delivery as it is about to be sent. */
export interface PushRequest<Body = string> {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
}

/** Gives the headers by which the receiver knows who sent it. Every attempt is signed anew. */
export type SignPush<Body = string> = (request: PushRequest<Body>) => Promise<Readonly<Record<string, string>>>
