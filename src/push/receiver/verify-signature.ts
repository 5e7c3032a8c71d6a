import { type CryptoKey, decodeJwt, errors, type JWTPayload } from 'jose'
import { verifyJwt } from '../../auth/jwt.ts'
import { fromBase64 } from '../../base/base64.ts'
import { toHex } from '../../base/hash.ts'
import type { Incoming } from '../../http/exchange.ts'
import { pushHeaders } from '../request.ts'
import {
  digest,
  httpAlgorithms,
  isDigestOf,
  parametersOf,
  readSignatureInputs,
  type SignatureInput,
  signatureBase,
  signatureOf,
} from '../signing/http-signature.ts'
import { contradiction } from '../signing/push-signer.ts'
import { Refusal } from './refusal.ts'
import { type KnownSigner, keyProblem, type Proof, type ProofOptions } from './signers.ts'

const algorithms = ['ES256', 'ES384', 'EdDSA', 'Ed25519', 'RS256', 'PS256']

/** Checks a signature by RFC 9421. It must cover the body, whom it is for, and what the delivery says of itself. */
export async function verifyHttpSignature(
  input: string,
  incoming: Incoming,
  body: Uint8Array,
  options: ProofOptions,
): Promise<Proof> {
  let refusal = new Refusal('signature', 'Signature-Input has no signature that can be read.')
  for (const each of readSignatureInputs(input)) {
    try {
      return await verify(each, incoming, body, options)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      refusal = error
    }
  }
  throw refusal
}

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

async function verify(
  input: SignatureInput,
  incoming: Incoming,
  body: Uint8Array,
  options: ProofOptions,
): Promise<Proof> {
  const { url, now } = options
  requireCovered(input.components, incoming)
  requireFresh(input, options)
  const signature = signatureOf(incoming.header('signature') ?? '', input.label)
  const bytes = signature === undefined ? undefined : fromBase64(signature)
  const target = incoming.query === '' ? url : `${url}?${incoming.query}`
  const message = { method: incoming.method, url: target, header: (name: string) => incoming.header(name) }
  const base = signatureBase(message, input.components, input.text)
  if (!bytes || signature === undefined || base === undefined) {
    throw new Refusal('signature', 'The signature of the delivery, or something that it covers, is not there.')
  }
  const { issuer } = await signerOf(input, bytes, new TextEncoder().encode(base), options.signers)
  if (!(await isDigestOf(incoming.header('content-digest') ?? '', body))) {
    throw new Refusal('tampered', 'The body is not the one that was signed (Content-Digest).')
  }
  const deliveryId = incoming.header(pushHeaders.deliveryId) ?? input.nonce
  const signedAt = (input.created ?? now() / 1000) * 1000
  return { issuer, signature, signedAt, ...(deliveryId !== undefined && { deliveryId }) }
}

function requireCovered(components: readonly string[], incoming: Incoming): void {
  const isFor = components.includes('@target-uri') || components.includes('@authority')
  const own = Object.values(pushHeaders).filter(
    (name) => name.startsWith('x-a2a-') && incoming.header(name) !== undefined,
  )
  const open = ['@method', 'content-digest', ...own].filter((name) => !components.includes(name))
  if (!isFor) open.push('@target-uri')
  // A token beside it is a signature of its own.
  const left = open.filter((name) => name !== pushHeaders.signature)
  if (left.length > 0) throw new Refusal('signature', `The signature does not cover ${left.join(', ')}.`)
}

function requireFresh({ created, expires }: SignatureInput, { maxAge, clockSkew, now }: ProofOptions): void {
  const moment = now() / 1000
  if (created === undefined) throw new Refusal('signature', 'The signature does not say when it was made (created).')
  const isOld = moment - created > maxAge + clockSkew || (expires !== undefined && moment > expires + clockSkew)
  if (isOld) throw new Refusal('stale', 'The delivery was signed too long ago: sign every attempt anew.')
  if (created > moment + clockSkew) throw new Refusal('stale', 'The delivery was signed in the future (created).')
}

/** A key may be of any signer: they are told apart by the names of their keys. */
async function signerOf(
  { keyid, alg = '' }: SignatureInput,
  signature: Uint8Array<ArrayBuffer>,
  base: Uint8Array<ArrayBuffer>,
  signers: readonly KnownSigner[],
): Promise<KnownSigner> {
  if (keyid === undefined) throw new Refusal('signature', 'The signature does not name its key (keyid).')
  const algorithm = Object.hasOwn(httpAlgorithms, alg) ? httpAlgorithms[alg as keyof typeof httpAlgorithms] : undefined
  if (!algorithm) {
    throw new Refusal('signature', `The signature must be by one of ${Object.keys(httpAlgorithms).join(', ')} (alg).`)
  }
  let unknown: Refusal | undefined
  let isKnown = false
  for (const signer of signers) {
    try {
      const key = (await signer.keys({ alg: algorithm, kid: keyid }, { payload: '', signature: '' })) as CryptoKey
      isKnown = true
      if (await crypto.subtle.verify(parametersOf(algorithm), key, signature, base)) return signer
    } catch (error) {
      const problem = keyProblem(error)
      if (!problem) throw error
      // One whose keys cannot be had may be the one.
      if (unknown?.reason !== 'keys-unavailable') unknown = problem
    }
  }
  throw isKnown || !unknown ? new Refusal('signature', 'The signature of the delivery is not valid.') : unknown
}

function readUnverified(token: string): JWTPayload {
  try {
    return decodeJwt(token)
  } catch {
    throw new Refusal('signature', 'The token that signs the delivery cannot be read.')
  }
}

/** Where the sender was told to post, or at least the origin of it. */
function audiencesOf(url: string, query: string): string[] {
  const { origin } = new URL(url)
  return [url, `${url}?${query}`, origin, `${origin}/`]
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
