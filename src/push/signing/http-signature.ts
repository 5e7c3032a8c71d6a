import { type CryptoKey, importJWK, type JWK } from 'jose'
import type { SigningKey } from '../../auth/key-ring.ts'
import type { PushRequest } from '../request.ts'
import { toBase64 } from './base64.ts'
import { contentDigest } from './content-digest.ts'
import { signatureBase } from './signature-base.ts'
import type { Signing } from './signing.ts'

/** As RFC 9421 §6.2 names them. */
export const httpAlgorithms = { 'ecdsa-p256-sha256': 'ES256', ed25519: 'EdDSA' } as const

/** What WebCrypto calls them. */
export function parametersOf(alg: SigningKey['alg']): EcdsaParams | Algorithm {
  return alg === 'ES256' ? { name: 'ECDSA', hash: 'SHA-256' } : { name: 'Ed25519' }
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

const imported = new WeakMap<JWK, Promise<CryptoKey>>()

function privateKeyOf({ key, alg }: SigningKey): CryptoKey | Promise<CryptoKey> {
  if (!('kty' in key)) return key as CryptoKey
  const known = imported.get(key) ?? importJWK(key, alg).then((each) => each as CryptoKey)
  imported.set(key, known)
  return known
}

/** Names of keys and deliveries are visible ASCII; whatever else they had would not fit into a header. */
function quoted(text: string): string {
  if (!/^[ !#-[\]-~]*$/.test(text))
    throw new TypeError('The names of keys and deliveries must be visible ASCII without quotes.')
  return `"${text}"`
}
