import type { Bytes } from './base64.ts'

/**
 * Signatures in the thread of the caller. WebCrypto signs in another thread, which takes half as much time again for a
 * short message, and delays it by a turn of the event loop. Missing on platforms other than Node.
 */
const node = isNode() ? loadNode() : undefined

/** Signs, or returns undefined: then another thread should do it. */
export type SignHere = (data: Uint8Array) => Bytes | undefined

/** Verifies a signature, or returns undefined: then another thread should do it. */
export type VerifyHere = (data: Uint8Array, signature: Uint8Array) => boolean | undefined

/** For a private key of Ed25519 or P-256. RSA takes too long to block a thread. */
export function createSignHere(jwk: JsonWebKey): SignHere | undefined {
  const algorithm = algorithmOf(jwk)
  if (!node || !algorithm) return undefined
  const { crypto } = node
  const key = algorithm.withKey(crypto.createPrivateKey({ key: { ...jwk }, format: 'jwk' }))
  return (data) => {
    if (!takeTurn(data.length)) return undefined
    const { buffer, byteOffset, length } = crypto.sign(algorithm.hash, data, key)
    return new Uint8Array(buffer, byteOffset, length)
  }
}

/** For a public key of Ed25519 or P-256. Signatures of P-256 are two numbers of 32 bytes (IEEE P1363). */
export function createVerifyHere(jwk: JsonWebKey): VerifyHere | undefined {
  const algorithm = algorithmOf(jwk)
  if (!node || !algorithm) return undefined
  const { crypto } = node
  const key = algorithm.withKey(crypto.createPublicKey({ key: { ...jwk }, format: 'jwk' }))
  return (data, signature) => (takeTurn(data.length) ? crypto.verify(algorithm.hash, data, key, signature) : undefined)
}

/** Longer messages are left to other threads: hashing them would block this one. In bytes. */
const maxLength = 16 * 1024

/**
 * How many signatures may block this thread in one turn of the event loop: those of one request and its response. More
 * mean that messages are waiting, and other cores should help if there are any.
 */
const perTurn = node && node.os.availableParallelism() > 1 ? 2 : 16

let taken = 0

function takeTurn(length: number): boolean {
  if (length > maxLength || taken >= perTurn) return false
  // Unreferenced: it neither keeps the process alive nor wakes the event loop.
  if (taken++ === 0) setImmediate(endTurn).unref()
  return true
}

function endTurn(): void {
  taken = 0
}

interface Algorithm {
  readonly hash: 'sha256' | null
  /** The argument of `sign` and `verify`. A key without options takes a seventh less time. */
  readonly withKey: (key: KeyObject) => KeyObject | { readonly key: KeyObject; readonly dsaEncoding: 'ieee-p1363' }
}

function algorithmOf({ kty, crv }: JsonWebKey): Algorithm | undefined {
  if (kty === 'OKP' && crv === 'Ed25519') return { hash: null, withKey: (key) => key }
  if (kty === 'EC' && crv === 'P-256') {
    return { hash: 'sha256', withKey: (key) => ({ key, dsaEncoding: 'ieee-p1363' }) }
  }
  return undefined
}

type KeyObject = ReturnType<NonNullable<typeof node>['crypto']['createPublicKey']>

/** Other runtimes also have `process`, and modules of the same names that do less. */
function isNode(): boolean {
  return typeof navigator === 'object' && navigator.userAgent?.startsWith('Node.js/') && typeof process === 'object'
}

function loadNode() {
  return { crypto: process.getBuiltinModule('node:crypto'), os: process.getBuiltinModule('node:os') }
}
