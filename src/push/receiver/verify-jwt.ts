import { decodeJwt, errors, type JWTPayload } from 'jose'
import { toHex } from '../../auth/digest.ts'
import { verifyJwt } from '../../auth/jwt-tokens.ts'
import type { Incoming } from '../../http/exchange.ts'
import { pushHeaders } from '../headers.ts'
import { digest } from '../signing/content-digest.ts'
import { contradiction } from '../signing/signed-claims.ts'
import { Refusal } from './refusal.ts'
import type { Proof, ProofOptions } from './signed.ts'
import { keyProblem } from './signers.ts'

const algorithms = ['ES256', 'ES384', 'EdDSA', 'Ed25519', 'RS256', 'PS256']

/** Checks a token that signs a delivery: who, for whom, when, and what. */
export async function verifyToken(
  token: string,
  incoming: Incoming,
  body: Uint8Array,
  { signers, url, maxAge, clockSkew, now }: ProofOptions,
): Promise<Proof> {
  const { iss } = readUnverified(token)
  const signer = signers.find(({ issuer }) => issuer === iss)
  if (!signer) throw new Refusal('signature', 'The delivery is signed by somebody who is not known here.')
  const claims = await verifyJwt(token, signer.keys, {
    issuer: signer.issuer,
    audience: audiencesOf(url, incoming.query),
    algorithms,
    clockTolerance: clockSkew,
    maxTokenAge: maxAge,
    currentDate: new Date(now()),
  }).catch((error: unknown) => {
    throw explain(error)
  })
  if (claims.request_body_sha256 !== toHex(await digest('SHA-256', body))) {
    throw new Refusal('tampered', 'The body is not the one that was signed (request_body_sha256).')
  }
  const changed = contradiction(claims, (name) => incoming.header(name))
  if (changed !== undefined) throw new Refusal('tampered', `${changed} is not what was signed.`)
  const { jti, iat = 0 } = claims
  const told = incoming.header(pushHeaders.deliveryId)
  if (told !== undefined && told !== jti) {
    throw new Refusal('tampered', `${pushHeaders.deliveryId} is not what was signed (jti).`)
  }
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return { issuer: signer.issuer, signature, signedAt: iat * 1000, ...(jti !== undefined && { deliveryId: jti }) }
}

/** Where the sender was told to post, or at least the origin of it. */
function audiencesOf(url: string, query: string): string[] {
  const { origin } = new URL(url)
  return [url, `${url}?${query}`, origin, `${origin}/`]
}

function readUnverified(token: string): JWTPayload {
  try {
    return decodeJwt(token)
  } catch {
    throw new Refusal('signature', 'The token that signs the delivery cannot be read.')
  }
}

function explain(error: unknown): unknown {
  const known = keyProblem(error)
  if (known) return known
  if (error instanceof errors.JWTExpired) {
    return new Refusal('stale', 'The delivery was signed too long ago: sign every attempt anew.')
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'aud') return new Refusal('audience', 'The delivery was signed for somebody else (aud).')
    const isTime = ['iat', 'exp', 'nbf'].includes(error.claim)
    return new Refusal(isTime ? 'stale' : 'signature', `The token that signs the delivery is wrong: ${error.message}.`)
  }
  if (error instanceof errors.JOSEError) return new Refusal('signature', 'The signature of the delivery is not valid.')
  return error
}
