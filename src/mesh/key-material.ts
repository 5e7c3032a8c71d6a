/** A public or private key, however it was written: PEM, base64 of its DER, or a JWK. */
export type KeyMaterial = string | JsonWebKey

export type KeyKind = 'Ed25519' | 'P-256' | 'RSA'

interface Mark {
  readonly kind: KeyKind
  readonly bytes: readonly number[]
}

/** The object identifiers, as DER writes them, by which an encoded key says what it is. */
const marks: readonly Mark[] = [
  { kind: 'Ed25519', bytes: [0x06, 0x03, 0x2b, 0x65, 0x70] },
  { kind: 'P-256', bytes: [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07] },
  { kind: 'RSA', bytes: [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01] },
]

const supported = 'Give a key of Ed25519, of ECDSA on P-256, or of RSA with 2048 bits or more.'

export function derOf(text: string): Uint8Array<ArrayBuffer> {
  const body = text.replace(/-----[A-Z ]+-----/g, '').replace(/\s+/g, '')
  try {
    return fromBase64(body)
  } catch {
    throw new TypeError('The key is neither PEM nor base64 of its DER.')
  }
}

export function kindOfDer(der: Uint8Array): KeyKind {
  // The algorithm stands at the beginning, before the key itself.
  const start = der.subarray(0, 48)
  const found = marks.find(({ bytes }) => indexOf(start, bytes) >= 0)
  if (!found) throw new TypeError(`The key is of an unknown kind. ${supported}`)
  return found.kind
}

export function kindOfJwk({ kty, crv }: JsonWebKey): KeyKind {
  if (kty === 'OKP' && crv === 'Ed25519') return 'Ed25519'
  if (kty === 'EC' && crv === 'P-256') return 'P-256'
  if (kty === 'RSA') return 'RSA'
  throw new TypeError(`The JWK has the type ${String(kty)} and the curve ${String(crv)}. ${supported}`)
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

export function toHex(bytes: Uint8Array): string {
  let hex = ''
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0')
  return hex
}

function indexOf(bytes: Uint8Array, wanted: readonly number[]): number {
  return bytes.findIndex((_, at) => wanted.every((byte, offset) => bytes[at + offset] === byte))
}
