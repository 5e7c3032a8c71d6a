import type { SigningKey } from '../../auth/key-ring.ts'

/** A delivery as it is about to be sent. */
export interface PushRequest<Body = string | Uint8Array> {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
}

/** With what a delivery is signed, and for how long. */
export interface Signing {
  readonly key: SigningKey
  /** Seconds since 1970. */
  readonly created: number
  readonly expires: number
  readonly deliveryId: string
}
