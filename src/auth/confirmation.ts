import type { Json } from '../protocol/model.ts'
import { fromHex } from './digest.ts'
import { type Presented, refused, type Verdict } from './scheme.ts'

/**
 * A token that is bound to a key is good only for who has the key (RFC 7800). The key of a certificate is proven on the
 * connection (RFC 8705 §3); other proofs are not read here, and who stole such a token must not get in by leaving them
 * out.
 */
export function confirmed(verdict: Verdict, presented: Presented): Verdict {
  if (!verdict || !('principal' in verdict) || verdict.confirmation === undefined) return verdict
  const shown = presented.certificate()
  const isShown = shown !== undefined && thumbprintIn(verdict.confirmation) === base64Url(shown.fingerprint)
  return isShown ? verdict : refused('the token is bound to a key that was not proven')
}

function thumbprintIn(confirmation: Json): Json | undefined {
  if (typeof confirmation !== 'object' || confirmation === null || Array.isArray(confirmation)) return undefined
  const { 'x5t#S256': thumbprint, ...others } = confirmation as { readonly [name: string]: Json }
  return Object.keys(others).length === 0 ? thumbprint : undefined
}

function base64Url(hex: string): string {
  const bytes = fromHex(hex) ?? new Uint8Array()
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}
