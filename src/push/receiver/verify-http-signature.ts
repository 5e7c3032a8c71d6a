import type { CryptoKey } from 'jose'
import type { Incoming } from '../../http/exchange.ts'
import { pushHeaders } from '../headers.ts'
import { fromBase64 } from '../signing/base64.ts'
import { isDigestOf } from '../signing/content-digest.ts'
import { httpAlgorithms, parametersOf } from '../signing/http-signature.ts'
import { signatureBase } from '../signing/signature-base.ts'
import { readSignatureInputs, type SignatureInput, signatureOf } from '../signing/signature-input.ts'
import { Refusal } from './refusal.ts'
import type { Proof, ProofOptions } from './signed.ts'
import { type KnownSigner, keyProblem } from './signers.ts'

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
