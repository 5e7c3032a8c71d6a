import type { SigningKey } from '../../auth/key-ring.ts'

/** With what a delivery is signed, and for how long. */
export interface Signing {
  readonly key: SigningKey
  /** Seconds since 1970. */
  readonly created: number
  readonly expires: number
  readonly deliveryId: string
}
