import type { KnownSigner } from './signers.ts'

/** That a signer has sent this very body here, just now. */
export interface Proof {
  readonly issuer: string
  readonly signature: string
  /** Milliseconds since 1970. */
  readonly signedAt: number
  readonly deliveryId?: string
}

export interface ProofOptions {
  readonly signers: readonly KnownSigner[]
  /** The address of the receiver, as senders know it, without a query. */
  readonly url: string
  /** Seconds. */
  readonly maxAge: number
  readonly clockSkew: number
  readonly now: () => number
}
