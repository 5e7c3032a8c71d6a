import { fromBase64 } from '../base/base64.ts'
import { toHex } from '../base/hash.ts'

const supported = 'Give a key of Ed25519, of ECDSA on P-256, or of RSA with 2048 bits or more.'

const pkcs1 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as const

const minRsaBits = 2048

/** A public or private key, however it was written: PEM, base64 of its DER, or a JWK. */
export type KeyMaterial = string | JsonWebKey

export type KeyKind = 'Ed25519' | 'P-256' | 'RSA'

/** The public key of an agent: it checks signatures, by the algorithm that belongs to the key and no other. */
export interface MeshKey {
  readonly kind: KeyKind
  /** `sha256:` and 64 digits, over the DER SPKI. */
  readonly fingerprint: string
  readonly jwk: JsonWebKey
  verify(data: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer>): Promise<boolean>
}

/** A key that can also sign. */
export interface MeshSigningKey extends MeshKey {
  sign(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>
}

/** From PKCS #8 (PEM or base64) or a private JWK. */
export async function importSigningKey(material: KeyMaterial): Promise<MeshSigningKey> {
  if (typeof material !== 'string') {
    const kind = kindOfJwk(material)
    const { key_ops: _, use: __, alg: ___, ...jwk } = material
    const secret = await crypto.subtle.importKey('jwk', jwk, importing[kind], false, ['sign'])
    return toSigningKey(await importPublicKey(material), secret)
  }
  const der = derOf(material)
  const kind = kindOfDer(der)
  const secret = await crypto.subtle.importKey('pkcs8', der, importing[kind], true, ['sign'])
  return toSigningKey(await importPublicKey(await crypto.subtle.exportKey('jwk', secret)), secret)
}

/** A new key. Its private half stays in this process. */
export async function generateSigningKey(kind: KeyKind = 'Ed25519'): Promise<MeshSigningKey> {
  const algorithm =
    kind === 'RSA'
      ? { ...importing.RSA, modulusLength: minRsaBits, publicExponent: new Uint8Array([1, 0, 1]) }
      : importing[kind]
  const pair = (await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])) as CryptoKeyPair
  return toSigningKey(await toKey(kind, pair.publicKey, {}), pair.privateKey)
}

export interface KeyOptions {
  /** Also take signatures of RSA in the older padding, PKCS #1 v1.5. */
  readonly allowPkcs1?: boolean
}

export async function importPublicKey(material: KeyMaterial, options: KeyOptions = {}): Promise<MeshKey> {
  if (typeof material === 'string') {
    const der = derOf(material)
    const kind = kindOfDer(der)
    return await toKey(kind, await crypto.subtle.importKey('spki', der, importing[kind], true, ['verify']), options)
  }
  const kind = kindOfJwk(material)
  const open = publicPart(material)
  return await toKey(kind, await crypto.subtle.importKey('jwk', open, importing[kind], true, ['verify']), options)
}

function derOf(text: string): Uint8Array<ArrayBuffer> {
  const body = text.replace(/-----[A-Z ]+-----/g, '').replace(/\s+/g, '')
  const der = fromBase64(body)
  if (der === undefined) throw new TypeError('The key is neither PEM nor base64 of its DER.')
  return der
}

function kindOfDer(der: Uint8Array): KeyKind {
  // The algorithm stands at the beginning, before the key itself.
  const start = der.subarray(0, 48)
  const found = marks.find(({ bytes }) => indexOf(start, bytes) >= 0)
  if (!found) throw new TypeError(`The key is of an unknown kind. ${supported}`)
  return found.kind
}

/** The object identifiers, as DER writes them, by which an encoded key says what it is. */
const marks: readonly Mark[] = [
  { kind: 'Ed25519', bytes: [0x06, 0x03, 0x2b, 0x65, 0x70] },
  { kind: 'P-256', bytes: [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07] },
  { kind: 'RSA', bytes: [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01] },
]

interface Mark {
  readonly kind: KeyKind
  readonly bytes: readonly number[]
}

function indexOf(bytes: Uint8Array, wanted: readonly number[]): number {
  return bytes.findIndex((_, at) => wanted.every((byte, offset) => bytes[at + offset] === byte))
}

async function toKey(kind: KeyKind, key: CryptoKey, { allowPkcs1 = false }: KeyOptions): Promise<MeshKey> {
  if ('modulusLength' in key.algorithm && Number(key.algorithm.modulusLength) < minRsaBits) {
    throw new TypeError(`The RSA key has ${key.algorithm.modulusLength} bits: it must have ${minRsaBits} or more.`)
  }
  const spki = await crypto.subtle.exportKey('spki', key)
  const older =
    kind === 'RSA' && allowPkcs1 ? await crypto.subtle.importKey('spki', spki, pkcs1, false, ['verify']) : undefined
  const algorithm = signing[kind]
  return {
    kind,
    fingerprint: `sha256:${toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', spki)))}`,
    jwk: publicPart(await crypto.subtle.exportKey('jwk', key)),
    async verify(data, signature) {
      const raw = kind === 'P-256' && signature.length !== 64 ? fromDer(signature) : signature
      if (raw === undefined) return false
      if (await crypto.subtle.verify(algorithm, key, raw, data)) return true
      return older !== undefined && (await crypto.subtle.verify(pkcs1, older, raw, data))
    },
  }
}

const signing = {
  Ed25519: { name: 'Ed25519' },
  'P-256': { name: 'ECDSA', hash: 'SHA-256' },
  RSA: { name: 'RSA-PSS', saltLength: 32 },
} as const

/** What may be told to others. */
function publicPart({ kty, crv, x, y, n, e }: JsonWebKey): JsonWebKey {
  return JSON.parse(JSON.stringify({ kty, crv, x, y, n, e }))
}

/**
 * The signature of ECDSA as two numbers of 32 bytes, from the form in which most libraries outside the web write it:
 * a DER sequence of two integers. Only its canonical spelling is read.
 */
function fromDer(der: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || der.length > 72) return undefined
  const first = integerAt(der, 2)
  const second = first && integerAt(der, first.end)
  if (!second || second.end !== der.length) return undefined
  const raw = new Uint8Array(64)
  raw.set(first.digits, 32 - first.digits.length)
  raw.set(second.digits, 64 - second.digits.length)
  return raw
}

function integerAt(der: Uint8Array, at: number): { readonly digits: Uint8Array; readonly end: number } | undefined {
  const length = der[at + 1] ?? 0
  const end = at + 2 + length
  if (der[at] !== 0x02 || length === 0 || end > der.length) return undefined
  const [first = 0, next = 0] = der.subarray(at + 2, end)
  // Negative, or with a zero that nobody needs.
  if (first > 0x7f || (first === 0 && length > 1 && next < 0x80)) return undefined
  const digits = der.subarray(first === 0 && length > 1 ? at + 3 : at + 2, end)
  return digits.length > 32 ? undefined : { digits, end }
}

const importing = {
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

function toSigningKey(open: MeshKey, secret: CryptoKey): MeshSigningKey {
  const algorithm = signing[open.kind]
  return { ...open, sign: async (data) => new Uint8Array(await crypto.subtle.sign(algorithm, secret, data)) }
}
