import { type Bytes, fromBase64 } from '../core/base/base64.ts'
import { toHex } from '../core/base/hash.ts'
import { checkOptions, flag, type OptionChecks } from '../core/base/options.ts'
import { createSignHere, createVerifyHere } from '../core/base/signatures.ts'

const supported = 'Use an Ed25519 key, an ECDSA key on P-256, or an RSA key of 2048 bits or more.'

const pkcs1 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as const

const minRsaBits = 2048

/** A public or private key as PEM, as base64 of its DER, or as a JWK. */
export type KeyMaterial = string | JsonWebKey

export type KeyKind = 'Ed25519' | 'P-256' | 'RSA'

/** The public key of an agent. It verifies signatures only with the algorithm of the key. */
export interface MeshKey {
  readonly kind: KeyKind
  /** `sha256:` and the hexadecimal SHA-256 of the DER SPKI. */
  readonly fingerprint: string
  readonly jwk: JsonWebKey
  verify(data: Bytes, signature: Bytes): Promise<boolean>
}

/** A key that can also sign. */
export interface MeshSigningKey extends MeshKey {
  sign(data: Bytes): Promise<Bytes>
}

/** Imports PKCS #8 (PEM or base64) or a private JWK. */
export async function importSigningKey(material: KeyMaterial): Promise<MeshSigningKey> {
  if (typeof material !== 'string') {
    const kind = kindOfJwk(material)
    const { key_ops: _, use: __, alg: ___, ...jwk } = material
    const privateKey = await crypto.subtle.importKey('jwk', jwk, importAlgorithms[kind], false, ['sign'])
    return toSigningKey(await importPublicKey(material), privateKey, jwk)
  }
  const der = derOf(material)
  const kind = kindOfDer(der)
  const privateKey = await crypto.subtle.importKey('pkcs8', der, importAlgorithms[kind], true, ['sign'])
  const jwk = await crypto.subtle.exportKey('jwk', privateKey)
  return toSigningKey(await importPublicKey(jwk), privateKey, jwk)
}

/** Creates a key whose private half cannot leave this process. */
export async function generateSigningKey(kind: KeyKind = 'Ed25519'): Promise<MeshSigningKey> {
  const algorithm =
    kind === 'RSA'
      ? { ...importAlgorithms.RSA, modulusLength: minRsaBits, publicExponent: new Uint8Array([1, 0, 1]) }
      : importAlgorithms[kind]
  const { publicKey, privateKey } = (await crypto.subtle.generateKey(algorithm, true, [
    'sign',
    'verify',
  ])) as CryptoKeyPair
  return toSigningKey(await toKey(kind, publicKey, {}), privateKey, await crypto.subtle.exportKey('jwk', privateKey))
}

export interface KeyOptions {
  /** Also accepts RSA signatures with the older PKCS #1 v1.5 padding. */
  readonly allowPkcs1?: boolean
}

export const keyChecks: OptionChecks<KeyOptions> = { allowPkcs1: flag }

/** Imports the public key of a peer from PEM, DER in base64, or a JWK. */
export async function importPublicKey(material: KeyMaterial, options: KeyOptions = {}): Promise<MeshKey> {
  checkOptions('importPublicKey', options, keyChecks)
  if (typeof material === 'string') {
    const der = derOf(material)
    const kind = kindOfDer(der)
    return await toKey(
      kind,
      await crypto.subtle.importKey('spki', der, importAlgorithms[kind], true, ['verify']),
      options,
    )
  }
  const kind = kindOfJwk(material)
  const jwk = publicJwkOf(material)
  return await toKey(kind, await crypto.subtle.importKey('jwk', jwk, importAlgorithms[kind], true, ['verify']), options)
}

function derOf(text: string): Bytes {
  const body = text.replace(/-----[A-Z ]+-----/g, '').replace(/\s+/g, '')
  const der = fromBase64(body)
  if (der === undefined) throw new TypeError('The key is neither PEM nor base64-encoded DER.')
  return der
}

function kindOfDer(der: Uint8Array): KeyKind {
  // The algorithm precedes the key.
  const start = der.subarray(0, 48)
  const algorithm = algorithmIds.find(({ bytes }) => indexOf(start, bytes) >= 0)
  if (!algorithm) throw new TypeError(`The key is of an unknown kind. ${supported}`)
  return algorithm.kind
}

/** The DER object identifiers of the supported algorithms. */
const algorithmIds: readonly AlgorithmId[] = [
  { kind: 'Ed25519', bytes: [0x06, 0x03, 0x2b, 0x65, 0x70] },
  { kind: 'P-256', bytes: [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07] },
  { kind: 'RSA', bytes: [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01] },
]

interface AlgorithmId {
  readonly kind: KeyKind
  readonly bytes: readonly number[]
}

function indexOf(bytes: Uint8Array, sequence: readonly number[]): number {
  return bytes.findIndex((_, at) => sequence.every((byte, offset) => bytes[at + offset] === byte))
}

async function toKey(kind: KeyKind, key: CryptoKey, { allowPkcs1 = false }: KeyOptions): Promise<MeshKey> {
  if ('modulusLength' in key.algorithm && Number(key.algorithm.modulusLength) < minRsaBits) {
    throw new TypeError(`The RSA key has ${key.algorithm.modulusLength} bits: it must have ${minRsaBits} or more.`)
  }
  const spki = await crypto.subtle.exportKey('spki', key)
  const pkcs1Key =
    kind === 'RSA' && allowPkcs1 ? await crypto.subtle.importKey('spki', spki, pkcs1, false, ['verify']) : undefined
  const jwk = publicJwkOf(await crypto.subtle.exportKey('jwk', key))
  const algorithm = signAlgorithms[kind]
  const verifyHere = createVerifyHere(jwk)
  return {
    kind,
    fingerprint: `sha256:${toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', spki)))}`,
    jwk,
    async verify(data, signature) {
      const raw = kind === 'P-256' && signature.length !== 64 ? decodeDerSignature(signature) : signature
      if (raw === undefined) return false
      if (verifyHere?.(data, raw) ?? (await crypto.subtle.verify(algorithm, key, raw, data))) return true
      return pkcs1Key !== undefined && (await crypto.subtle.verify(pkcs1, pkcs1Key, raw, data))
    },
  }
}

const signAlgorithms = {
  Ed25519: { name: 'Ed25519' },
  'P-256': { name: 'ECDSA', hash: 'SHA-256' },
  RSA: { name: 'RSA-PSS', saltLength: 32 },
} as const

/** The members of a JWK that are not secret. */
function publicJwkOf({ kty, crv, x, y, n, e }: JsonWebKey): JsonWebKey {
  return JSON.parse(JSON.stringify({ kty, crv, x, y, n, e }))
}

/**
 * Converts an ECDSA signature from a DER sequence of two integers, which most libraries outside the web write, to two
 * numbers of 32 bytes. Accepts only the canonical encoding.
 */
function decodeDerSignature(der: Uint8Array): Bytes | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || der.length > 72) return undefined
  const first = readDerInteger(der, 2)
  const second = first && readDerInteger(der, first.end)
  if (!second || second.end !== der.length) return undefined
  const raw = new Uint8Array(64)
  raw.set(first.digits, 32 - first.digits.length)
  raw.set(second.digits, 64 - second.digits.length)
  return raw
}

function readDerInteger(
  der: Uint8Array,
  at: number,
): { readonly digits: Uint8Array; readonly end: number } | undefined {
  const length = der[at + 1] ?? 0
  const end = at + 2 + length
  if (der[at] !== 0x02 || length === 0 || end > der.length) return undefined
  const [first = 0, next = 0] = der.subarray(at + 2, end)
  // Negative, or with a redundant zero.
  if (first > 0x7f || (first === 0 && length > 1 && next < 0x80)) return undefined
  const digits = der.subarray(first === 0 && length > 1 ? at + 3 : at + 2, end)
  return digits.length > 32 ? undefined : { digits, end }
}

const importAlgorithms = {
  Ed25519: { name: 'Ed25519' },
  'P-256': { name: 'ECDSA', namedCurve: 'P-256' },
  RSA: { name: 'RSA-PSS', hash: 'SHA-256' },
} as const

function kindOfJwk({ kty, crv }: JsonWebKey): KeyKind {
  if (kty === 'OKP' && crv === 'Ed25519') return 'Ed25519'
  if (kty === 'EC' && crv === 'P-256') return 'P-256'
  if (kty === 'RSA') return 'RSA'
  throw new TypeError(`The JWK has the type ${String(kty)} and the curve ${String(crv)}. ${supported}`)
}

function toSigningKey(publicKey: MeshKey, privateKey: CryptoKey, jwk: JsonWebKey): MeshSigningKey {
  const algorithm = signAlgorithms[publicKey.kind]
  const signHere = createSignHere(jwk)
  return {
    ...publicKey,
    sign: async (data) => signHere?.(data) ?? new Uint8Array(await crypto.subtle.sign(algorithm, privateKey, data)),
  }
}
