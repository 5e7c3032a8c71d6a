import { type CardVerifierOptions, createCardVerifier } from '../../core/auth/card-signature/verify-card.ts'
import type { JsonObject } from '../../core/base/json.ts'

/** Where keys come from. Without any, a signature cannot be verified. */
export interface SignatureKeys {
  readonly keys?: () => Promise<NonNullable<CardVerifierOptions['keys']>>
  /** The address of a key set. */
  readonly jwks?: string | undefined
  /** An origin whose key sets are trusted. */
  readonly origin?: string | undefined
}

/** The result of the signatures of a card: `absent`, `verified`, or `unverifiable` with the reason. */
export async function verifySignature(wire: JsonObject, { keys, jwks, origin }: SignatureKeys): Promise<string> {
  if (!Array.isArray(wire.signatures) || wire.signatures.length === 0) return 'absent'
  try {
    if (keys) await createCardVerifier({ keys: await keys() })(wire)
    else if (jwks !== undefined) await createCardVerifier({ jwks })(wire)
    else if (origin !== undefined) await createCardVerifier({ trustedOrigins: [origin] })(wire)
    else return 'unverifiable (no keys: pass --jwks)'
    return 'verified'
  } catch (error) {
    return `unverifiable (${error instanceof Error ? error.message : error})`
  }
}
