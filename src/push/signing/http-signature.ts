import { type CryptoKey, importJWK, type JWK } from 'jose'
import type { SigningKey } from '../../auth/key-ring.ts'
import { fromBase64, toBase64 } from '../../base/base64.ts'
import { isEqual } from '../../base/hash.ts'
import type { PushRequest } from '../request.ts'

const imported = new WeakMap<JWK, Promise<CryptoKey>>()

/** So many signatures are looked at. */
const maxEntries = 4

const list = /\((?<components>(?:"[!#-[\]-~]*"(?: +(?="))?)*)\)/

const parameter = /;\s*(?<name>[a-z]+)=(?:"(?<text>[ !#-[\]-~]*)"|(?<number>-?\d{1,15}))/

/** Whether a header has the digest of this body. One by algorithms that are not known proves nothing. */
export async function isDigestOf(header: string, body: Uint8Array): Promise<boolean> {
  let matched = false
  for (const [, name = '', value = ''] of header.matchAll(/([a-z\d-]+)=:([A-Za-z\d+/]*={0,2}):/g)) {
    const algorithm = algorithms.get(name)
    if (!algorithm) continue
    const told = fromBase64(value)
    if (!told || !isEqual(told, await digest(algorithm, body))) return false
    matched = true
  }
  return matched
}

/** As RFC 9421 §6.2 names them. */
export const httpAlgorithms = { 'ecdsa-p256-sha256': 'ES256', ed25519: 'EdDSA' } as const

/** With what a delivery is signed, and for how long. */
export interface Signing {
  readonly key: SigningKey
  /** Seconds since 1970. */
  readonly created: number
  readonly expires: number
  readonly deliveryId: string
}

/** Signs method, address, body and whatever the delivery says of itself (RFC 9421), but not its credentials. */
export async function httpSignature(
  { url, headers, body }: PushRequest<Uint8Array>,
  { key, created, expires, deliveryId }: Signing,
): Promise<Readonly<Record<string, string>>> {
  const all = new Headers(headers)
  all.set('content-digest', await contentDigest(body))
  const named = [...all.keys()].filter((name) => name === 'content-type' || name.startsWith('x-a2a-'))
  const components = ['@method', '@target-uri', 'content-digest', ...named]
  const alg = key.alg === 'ES256' ? 'ecdsa-p256-sha256' : 'ed25519'
  const parameters =
    `(${components.map((name) => `"${name}"`).join(' ')});created=${created};expires=${expires}` +
    `;keyid=${quoted(key.kid)};alg="${alg}";nonce=${quoted(deliveryId)};tag="a2a-push"`
  const message = { method: 'POST', url, header: (name: string) => all.get(name) ?? undefined }
  const base = signatureBase(message, components, parameters) ?? ''
  const signature = await crypto.subtle.sign(
    parametersOf(key.alg),
    await privateKeyOf(key),
    new TextEncoder().encode(base),
  )
  return {
    'content-digest': all.get('content-digest') ?? '',
    'signature-input': `a2a=${parameters}`,
    signature: `a2a=:${toBase64(new Uint8Array(signature))}:`,
  }
}

/** One entry of `Signature-Input` (RFC 9421 §4.1). */
export interface SignatureInput {
  readonly label: string
  readonly components: readonly string[]
  /** Seconds since 1970. */
  readonly created?: number
  readonly expires?: number
  readonly keyid?: string
  readonly alg?: string
  readonly nonce?: string
  /** All of it behind the label, word for word, for that is signed, too. */
  readonly text: string
}

/** The entries that can be read; those with parameters of components, which nobody here makes, are left out. */
export function readSignatureInputs(header: string): readonly SignatureInput[] {
  const inputs: SignatureInput[] = []
  for (const { groups = {} } of header.matchAll(entry)) {
    if (inputs.length === maxEntries) break
    const { label = '', text = '' } = groups
    const components = list.exec(text)?.groups?.components ?? ''
    inputs.push({
      label,
      text,
      components: [...components.matchAll(/"([^"]*)"/g)].map(([, name = '']) => name),
      ...parametersIn(text),
    })
  }
  return inputs
}

/** The bytes of the signature of that label, in base64. */
export function signatureOf(header: string, label: string): string | undefined {
  const all = header.matchAll(/(?:^|,)\s*([a-z*][a-z\d_.*-]*)=:([A-Za-z\d+/]*={0,2}):/g)
  for (const [, name, value] of all) if (name === label) return value
  return undefined
}

export async function digest(algorithm: string, body: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest(algorithm, Uint8Array.from(body)))
}

/** RFC 9530: the digest of a body, as a header. */
export async function contentDigest(body: Uint8Array): Promise<string> {
  return `sha-256=:${toBase64(await digest('SHA-256', body))}:`
}

/** What of a request a signature is made of (RFC 9421 §2). */
export interface SignedMessage {
  readonly method: string
  /** As the receiver is known to others, with the query. */
  readonly url: string
  header(name: string): string | undefined
}

/** The text that is signed. Undefined if something that is covered is not there, or is not known. */
export function signatureBase(
  message: SignedMessage,
  components: readonly string[],
  parameters: string,
): string | undefined {
  const lines: string[] = []
  for (const name of components) {
    const value = componentOf(message, name)
    if (value === undefined) return undefined
    lines.push(`"${name}": ${value}`)
  }
  return [...lines, `"@signature-params": ${parameters}`].join('\n')
}

/** What WebCrypto calls them. */
export function parametersOf(alg: SigningKey['alg']): EcdsaParams | Algorithm {
  return alg === 'ES256' ? { name: 'ECDSA', hash: 'SHA-256' } : { name: 'Ed25519' }
}

const algorithms: ReadonlyMap<string, string> = new Map([
  ['sha-256', 'SHA-256'],
  ['sha-512', 'SHA-512'],
])

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

/** Names of keys and deliveries are visible ASCII; whatever else they had would not fit into a header. */
function quoted(text: string): string {
  if (!/^[ !#-[\]-~]*$/.test(text))
    throw new TypeError('The names of keys and deliveries must be visible ASCII without quotes.')
  return `"${text}"`
}

function privateKeyOf({ key, alg }: SigningKey): CryptoKey | Promise<CryptoKey> {
  if (!('kty' in key)) return key as CryptoKey
  const known = imported.get(key) ?? importJWK(key, alg).then((each) => each as CryptoKey)
  imported.set(key, known)
  return known
}

const entry = new RegExp(
  `(?:^|,)\\s*(?<label>[a-z*][a-z\\d_.*-]*)=(?<text>${withoutNames(list)}(?:${withoutNames(parameter)})*)\\s*(?=,|$)`,
  'g',
)

/** Groups of a part would stand twice in the whole. */
function withoutNames({ source }: RegExp): string {
  return source.replace(/\(\?<[a-z]+>/g, '(?:')
}

function parametersIn(text: string): Omit<SignatureInput, 'label' | 'components' | 'text'> {
  const found: Record<string, string | number> = {}
  const behind = text.slice(text.indexOf(')') + 1)
  for (const { groups = {} } of behind.matchAll(new RegExp(parameter, 'g'))) {
    const { name = '', text: word, number } = groups
    found[name] = number === undefined ? (word ?? '') : Number(number)
  }
  const { created, expires, keyid, alg, nonce } = found
  return {
    ...(typeof created === 'number' && { created }),
    ...(typeof expires === 'number' && { expires }),
    ...(typeof keyid === 'string' && { keyid }),
    ...(typeof alg === 'string' && { alg }),
    ...(typeof nonce === 'string' && { nonce }),
  }
}
