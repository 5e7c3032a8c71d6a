import type { JWTVerifyGetKey } from 'jose'
import { type CryptoKey, decodeJwt, errors, type JWTPayload } from 'jose'
import { verifyJwt } from '../../auth/jwt.ts'
import { KeysUnavailable } from '../../auth/jwt-keys.ts'
import { toBase64 } from '../../base/base64.ts'
import { toHex } from '../../base/hash.ts'
import { defined } from '../../base/json.ts'
import type { Incoming } from '../../http/exchange.ts'
import { pushHeaders } from '../request.ts'
import {
  digest,
  httpAlgorithms,
  isDigestOf,
  parametersOf,
  readSignature,
  readSignatureInputs,
  type SignatureInput,
  signatureBase,
} from '../signing/http-signature.ts'
import { mismatchedHeader } from '../signing/push-signer.ts'
import { DeliveryRefusal } from './refusal.ts'

const algorithms = ['ES256', 'ES384', 'EdDSA', 'Ed25519', 'RS256', 'PS256']

export interface SignerKeys {
  readonly issuer: string
  readonly keys: JWTVerifyGetKey
}

export interface ProofOptions {
  readonly signers: readonly SignerKeys[]
  /** The public URL of the receiver, without a query. */
  readonly url: string
  /** Maximum age of a signature, in seconds. */
  readonly maxAge: number
  /** Tolerated clock difference, in seconds. */
  readonly clockSkew: number
  readonly now: () => number
}

/** Proof that a signer recently sent this body to this receiver. */
export interface Proof {
  readonly issuer: string
  readonly signature: string
  /** When the delivery was signed, in milliseconds since 1970. */
  readonly signedAt: number
  readonly deliveryId?: string
}

/** Verifies an HTTP signature (RFC 9421). It must cover the method, the URL, the body and all A2A headers. */
export async function verifyHttpSignature(
  input: string,
  incoming: Incoming,
  body: Uint8Array,
  options: ProofOptions,
): Promise<Proof> {
  let refusal = new DeliveryRefusal('signature', 'Signature-Input has no signature that can be read.')
  for (const candidate of readSignatureInputs(input)) {
    try {
      return await verify(candidate, incoming, body, options)
    } catch (error) {
      if (!(error instanceof DeliveryRefusal)) throw error
      refusal = error
    }
  }
  throw refusal
}

/** Verifies a signed token: its issuer, audience, age, and that it matches the body and the A2A headers. */
export async function verifyToken(
  token: string,
  incoming: Incoming,
  body: Uint8Array,
  { signers, url, maxAge, clockSkew, now }: ProofOptions,
): Promise<Proof> {
  const { iss } = readUnverified(token)
  const signer = signers.find(({ issuer }) => issuer === iss)
  if (!signer) throw new DeliveryRefusal('signature', 'The issuer of the signature is not accepted here.')
  const claims = await verifyJwt(token, signer.keys, {
    issuer: signer.issuer,
    audience: audiencesOf(url, incoming.query),
    algorithms,
    clockTolerance: clockSkew,
    maxTokenAge: maxAge,
    currentDate: new Date(now()),
  }).catch((error: unknown) => {
    throw refusalOf(error)
  })
  if (claims.request_body_sha256 !== toHex(await digest('SHA-256', body))) {
    throw new DeliveryRefusal('tampered', 'The body is not the signed one (request_body_sha256).')
  }
  const changed = mismatchedHeader(claims, (name) => incoming.header(name))
  if (changed !== undefined) throw new DeliveryRefusal('tampered', `${changed} is not the signed value.`)
  const { jti, iat = 0 } = claims
  const deliveryId = incoming.header(pushHeaders.deliveryId)
  if (deliveryId !== undefined && deliveryId !== jti) {
    throw new DeliveryRefusal('tampered', `${pushHeaders.deliveryId} is not the signed value (jti).`)
  }
  const signature = token.slice(token.lastIndexOf('.') + 1)
  return defined({ issuer: signer.issuer, signature, signedAt: iat * 1000, deliveryId: jti })
}

/** The refusal for an error of the key lookup; undefined for any other error. */
function keyRefusal(error: unknown): DeliveryRefusal | undefined {
  if (error instanceof KeysUnavailable) {
    const message = 'The keys of the sender cannot be fetched: try again later.'
    return new DeliveryRefusal('keys-unavailable', message, { cause: error, retryAfter: 30 })
  }
  if (codeOf(error) === 'ERR_JWKS_NO_MATCHING_KEY') {
    return new DeliveryRefusal('unknown-key', 'The key that signed the delivery is not published by its sender.')
  }
  return undefined
}

async function verify(
  input: SignatureInput,
  incoming: Incoming,
  body: Uint8Array,
  options: ProofOptions,
): Promise<Proof> {
  const { url, now } = options
  requireCovered(input.components, incoming)
  requireFresh(input, options)
  const signature = readSignature(incoming.header('signature') ?? '', input.label)
  const target = incoming.query === '' ? url : `${url}?${incoming.query}`
  const message = { method: incoming.method, url: target, header: (name: string) => incoming.header(name) }
  const base = signatureBase(message, input.components, input.signatureParams)
  if (signature === undefined || base === undefined) {
    throw new DeliveryRefusal('signature', 'The signature of the delivery, or a component that it covers, is missing.')
  }
  const { issuer } = await signerOf(input, signature, new TextEncoder().encode(base), options.signers)
  if (!(await isDigestOf(incoming.header('content-digest') ?? '', body))) {
    throw new DeliveryRefusal('tampered', 'The body is not the signed one (Content-Digest).')
  }
  const deliveryId = incoming.header(pushHeaders.deliveryId) ?? input.nonce
  const signedAt = (input.created ?? now() / 1000) * 1000
  return defined({ issuer, signature: toBase64(signature), signedAt, deliveryId })
}

function requireCovered(components: readonly string[], incoming: Incoming): void {
  // A token next to the signature is signed by itself.
  const headers = Object.values(pushHeaders).filter(
    (name) => name.startsWith('x-a2a-') && name !== pushHeaders.signature && incoming.header(name) !== undefined,
  )
  const uncovered = ['@method', 'content-digest', ...headers].filter((name) => !components.includes(name))
  if (!components.includes('@target-uri') && !components.includes('@authority')) uncovered.push('@target-uri')
  if (uncovered.length > 0)
    throw new DeliveryRefusal('signature', `The signature does not cover ${uncovered.join(', ')}.`)
}

function requireFresh({ created, expires }: SignatureInput, { maxAge, clockSkew, now }: ProofOptions): void {
  const seconds = now() / 1000
  if (created === undefined) throw new DeliveryRefusal('signature', 'The signature has no creation time (created).')
  const isOld = seconds - created > maxAge + clockSkew || (expires !== undefined && seconds > expires + clockSkew)
  if (isOld) throw new DeliveryRefusal('stale', 'The delivery was signed too long ago: sign every attempt anew.')
  if (created > seconds + clockSkew)
    throw new DeliveryRefusal('stale', 'The delivery was signed in the future (created).')
}

/** The signer whose key made the signature. HTTP signatures name a key, but no issuer. */
async function signerOf(
  { keyid, alg = '' }: SignatureInput,
  signature: Uint8Array<ArrayBuffer>,
  base: Uint8Array<ArrayBuffer>,
  signers: readonly SignerKeys[],
): Promise<SignerKeys> {
  if (keyid === undefined) throw new DeliveryRefusal('signature', 'The signature does not name its key (keyid).')
  const algorithm = Object.hasOwn(httpAlgorithms, alg) ? httpAlgorithms[alg as keyof typeof httpAlgorithms] : undefined
  if (!algorithm) {
    throw new DeliveryRefusal(
      'signature',
      `The signature must use one of ${Object.keys(httpAlgorithms).join(', ')} (alg).`,
    )
  }
  let refusal: DeliveryRefusal | undefined
  let hasKey = false
  for (const signer of signers) {
    try {
      const key = (await signer.keys({ alg: algorithm, kid: keyid }, { payload: '', signature: '' })) as CryptoKey
      hasKey = true
      if (await crypto.subtle.verify(parametersOf(algorithm), key, signature, base)) return signer
    } catch (error) {
      const problem = keyRefusal(error)
      if (!problem) throw error
      // The key may belong to a signer whose keys cannot be fetched.
      if (refusal?.reason !== 'keys-unavailable') refusal = problem
    }
  }
  throw hasKey || !refusal ? new DeliveryRefusal('signature', 'The signature of the delivery is not valid.') : refusal
}

function readUnverified(token: string): JWTPayload {
  try {
    return decodeJwt(token)
  } catch {
    throw new DeliveryRefusal('signature', 'The token that signs the delivery cannot be read.')
  }
}

/** The URL that the sender posts to, or its origin. */
function audiencesOf(url: string, query: string): string[] {
  const { origin } = new URL(url)
  return [url, `${url}?${query}`, origin, `${origin}/`]
}

function refusalOf(error: unknown): unknown {
  const refusal = keyRefusal(error)
  if (refusal) return refusal
  if (error instanceof errors.JWTExpired) {
    return new DeliveryRefusal('stale', 'The delivery was signed too long ago: sign every attempt anew.')
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'aud')
      return new DeliveryRefusal('audience', 'The delivery was signed for another receiver (aud).')
    const isTime = ['iat', 'exp', 'nbf'].includes(error.claim)
    return new DeliveryRefusal(
      isTime ? 'stale' : 'signature',
      `The token that signs the delivery is not valid: ${error.message}.`,
    )
  }
  if (error instanceof errors.JOSEError)
    return new DeliveryRefusal('signature', 'The signature of the delivery is not valid.')
  return error
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
