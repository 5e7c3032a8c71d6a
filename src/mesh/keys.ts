import { fromDer } from './ecdsa-der.ts'
import { derOf, type KeyKind, type KeyMaterial, kindOfDer, kindOfJwk, toHex } from './key-material.ts'

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

export interface KeyOptions {
  /** Also take signatures of RSA in the older padding, PKCS #1 v1.5. */
  readonly allowPkcs1?: boolean
}

const importing = {
  Ed25519: { name: 'Ed25519' },
  'P-256': { name: 'ECDSA', namedCurve: 'P-256' },
  RSA: { name: 'RSA-PSS', hash: 'SHA-256' },
} as const
const signing = {
  Ed25519: { name: 'Ed25519' },
  'P-256': { name: 'ECDSA', hash: 'SHA-256' },
  RSA: { name: 'RSA-PSS', saltLength: 32 },
} as const
const pkcs1 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } as const
const minRsaBits = 2048

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

function toSigningKey(open: MeshKey, secret: CryptoKey): MeshSigningKey {
  const algorithm = signing[open.kind]
  return { ...open, sign: async (data) => new Uint8Array(await crypto.subtle.sign(algorithm, secret, data)) }
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

/** What may be told to others. */
function publicPart({ kty, crv, x, y, n, e }: JsonWebKey): JsonWebKey {
  return JSON.parse(JSON.stringify({ kty, crv, x, y, n, e }))
}
