import { type CryptoKey, importJWK, type JWK } from 'jose'
import {
  type BareItem,
  type Dictionary,
  type InnerList,
  isInnerList,
  type Parameters,
  parseDictionary,
  serializeDictionary,
  serializeInnerList,
} from 'structured-headers'
import type { SigningKey } from '../../auth/key-ring.ts'
import { isEqual } from '../../base/hash.ts'
import { defined } from '../../base/json.ts'
import type { PushRequest } from '../request.ts'

/** Maximum number of signatures that are read from one request. */
const maxSignatures = 4

/** Visible ASCII without quotes and backslashes: no string in a signature of ours needs an escape. */
const plainText = /^[ !#-[\]-~]*$/

/** A field name (RFC 9110 §5.1) or a derived component such as `@method` (RFC 9421 §2.2). */
const componentName = /^@?[\w!#$%&'*+.^`|~-]+$/

/** The algorithm names of RFC 9421 §6.2. */
export const httpAlgorithms = { 'ecdsa-p256-sha256': 'ES256', ed25519: 'EdDSA' } as const

/** The key of a signature and the time for which it is valid. */
export interface Signing {
  readonly key: SigningKey
  /** Seconds since 1970. */
  readonly created: number
  readonly expires: number
  readonly deliveryId: string
}

/** Signs the method, URL, body and A2A headers of a delivery (RFC 9421), but not its credentials. */
export async function httpSignature(
  { url, headers, body }: PushRequest<Uint8Array>,
  { key, created, expires, deliveryId }: Signing,
): Promise<Readonly<Record<string, string>>> {
  const digestHeader = await contentDigest(body)
  const signedHeaders = new Headers(headers)
  signedHeaders.set('content-digest', digestHeader)
  const names = [...signedHeaders.keys()].filter((name) => name === 'content-type' || name.startsWith('x-a2a-'))
  const components = ['@method', '@target-uri', 'content-digest', ...names]
  const parameters = new Map<string, BareItem>([
    ['created', created],
    ['expires', expires],
    ['keyid', requirePlainText(key.kid)],
    ['alg', key.alg === 'ES256' ? 'ecdsa-p256-sha256' : 'ed25519'],
    ['nonce', requirePlainText(deliveryId)],
    ['tag', 'a2a-push'],
  ])
  const input: InnerList = [components.map((name) => [name, new Map()]), parameters]
  const message = { method: 'POST', url, header: (name: string) => signedHeaders.get(name) ?? undefined }
  const base = signatureBase(message, components, serializeInnerList(input)) ?? ''
  const signature = await crypto.subtle.sign(
    parametersOf(key.alg),
    await privateKeyOf(key),
    new TextEncoder().encode(base),
  )
  return {
    'content-digest': digestHeader,
    'signature-input': serializeDictionary(new Map([['a2a', input]])),
    signature: serializeDictionary({ a2a: signature }),
  }
}

/** One member of `Signature-Input` (RFC 9421 §4.1). */
export interface SignatureInput {
  readonly label: string
  readonly components: readonly string[]
  /** Seconds since 1970. */
  readonly created?: number
  readonly expires?: number
  readonly keyid?: string
  readonly alg?: string
  readonly nonce?: string
  /** The value of `@signature-params`: components and parameters, serialised (RFC 9421 §2.3). */
  readonly signatureParams: string
}

/** The members that can be verified. Those with component parameters, which no A2A sender uses, are left out. */
export function readSignatureInputs(header: string): readonly SignatureInput[] {
  const inputs: SignatureInput[] = []
  for (const [label, member] of readDictionary(header)) {
    if (inputs.length === maxSignatures) break
    const input = isInnerList(member) ? decodeInput(label, member) : undefined
    if (input) inputs.push(input)
  }
  return inputs
}

/** The bytes of the signature with this label. */
export function readSignature(header: string, label: string): Uint8Array<ArrayBuffer> | undefined {
  return bytesOf(readDictionary(header), label)
}

/** Whether `Content-Digest` (RFC 9530) matches the body. Digests of unknown algorithms prove nothing. */
export async function isDigestOf(header: string, body: Uint8Array): Promise<boolean> {
  const digests = readDictionary(header)
  let hasMatched = false
  for (const [name, algorithm] of digestAlgorithms) {
    if (!digests.has(name)) continue
    const expected = bytesOf(digests, name)
    if (!expected || !isEqual(expected, await digest(algorithm, body))) return false
    hasMatched = true
  }
  return hasMatched
}

/** The value of `Content-Digest` (RFC 9530) for a body. */
export async function contentDigest(body: Uint8Array): Promise<string> {
  return serializeDictionary({ 'sha-256': await digest('SHA-256', body) })
}

export async function digest(algorithm: string, body: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest(algorithm, Uint8Array.from(body)))
}

/** The parts of a request that a signature can cover (RFC 9421 §2). */
export interface SignedMessage {
  readonly method: string
  /** The public URL of the receiver, with the query. */
  readonly url: string
  header(name: string): string | undefined
}

/** The text to sign. Undefined if a covered component is missing or unknown. */
export function signatureBase(
  message: SignedMessage,
  components: readonly string[],
  signatureParams: string,
): string | undefined {
  const lines: string[] = []
  for (const name of components) {
    const value = componentOf(message, name)
    if (value === undefined) return undefined
    lines.push(`"${name}": ${value}`)
  }
  return [...lines, `"@signature-params": ${signatureParams}`].join('\n')
}

/** The WebCrypto parameters of an algorithm. */
export function parametersOf(alg: SigningKey['alg']): EcdsaParams | Algorithm {
  return alg === 'ES256' ? { name: 'ECDSA', hash: 'SHA-256' } : { name: 'Ed25519' }
}

const digestAlgorithms = [
  ['sha-256', 'SHA-256'],
  ['sha-512', 'SHA-512'],
] as const

/** A header that is not a dictionary (RFC 8941 §3.2) counts as empty. */
function readDictionary(header: string): Dictionary {
  try {
    return parseDictionary(header)
  } catch {
    return new Map()
  }
}

function bytesOf(dictionary: Dictionary, name: string): Uint8Array<ArrayBuffer> | undefined {
  const value = dictionary.get(name)?.[0]
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined
}

function decodeInput(label: string, member: InnerList): SignatureInput | undefined {
  const [items, parameters] = member
  const components = items.flatMap(([name, { size }]) =>
    typeof name === 'string' && componentName.test(name) && size === 0 ? [name] : [],
  )
  const isReadable = components.length === items.length && [...parameters].every(isDefined)
  if (!isReadable) return undefined
  return { label, components, signatureParams: serializeInnerList(member), ...decodeParameters(parameters) }
}

/** The parameters that RFC 9421 §2.3 defines are words with a string or an integer. */
function isDefined([name, value]: readonly [string, BareItem]): boolean {
  return /^[a-z]+$/.test(name) && (typeof value === 'string' ? plainText.test(value) : Number.isInteger(value))
}

function decodeParameters(
  parameters: Parameters,
): Pick<SignatureInput, 'created' | 'expires' | 'keyid' | 'alg' | 'nonce'> {
  const { created, expires, keyid, alg, nonce } = Object.fromEntries(parameters)
  return defined({
    created: typeof created === 'number' ? created : undefined,
    expires: typeof expires === 'number' ? expires : undefined,
    keyid: typeof keyid === 'string' ? keyid : undefined,
    alg: typeof alg === 'string' ? alg : undefined,
    nonce: typeof nonce === 'string' ? nonce : undefined,
  })
}

function componentOf({ method, url, header }: SignedMessage, name: string): string | undefined {
  if (!name.startsWith('@')) return header(name)?.trim()
  const { protocol, host, pathname, search } = new URL(url)
  switch (name) {
    case '@method':
      return method
    case '@target-uri':
      return url
    case '@authority':
      return host
    case '@scheme':
      return protocol.slice(0, -1)
    case '@path':
      return pathname
    case '@query':
      return search === '' ? '?' : search
    default:
      return undefined
  }
}

function requirePlainText(text: string): string {
  if (!plainText.test(text)) throw new TypeError('Key ids and delivery ids must be visible ASCII without quotes.')
  return text
}

const importedKeys = new WeakMap<JWK, Promise<CryptoKey>>()

function privateKeyOf({ key, alg }: SigningKey): CryptoKey | Promise<CryptoKey> {
  if (!('kty' in key)) return key as CryptoKey
  const imported = importedKeys.get(key) ?? importJWK(key, alg).then((cryptoKey) => cryptoKey as CryptoKey)
  importedKeys.set(key, imported)
  return imported
}
