import type { JWK, JWTVerifyGetKey } from 'jose'
import { KeysUnavailable, openKeySource, type RemoteKeySetOptions } from '../../auth/jwt.ts'
import type { Incoming } from '../../http/exchange.ts'
import { pushHeaders } from '../request.ts'
import { DeliveryRefusal } from './refusal.ts'
import type { Registrations } from './registration-tokens.ts'

/** An agent whose signatures the receiver accepts. */
export interface Signer {
  /** The issuer of its tokens (`iss`): the URL of the agent. */
  readonly issuer: string
  /** The URL of its keys, or the keys themselves. Defaults to `/.well-known/jwks.json` of the issuer. */
  readonly jwks?: string | readonly JWK[]
}

export interface SignerKeys {
  readonly issuer: string
  readonly keys: JWTVerifyGetKey
}

export function createSignerKeys(
  signers: readonly Signer[],
  options: Omit<RemoteKeySetOptions, 'url'>,
): readonly SignerKeys[] {
  return signers.map(({ issuer, jwks = `${issuer.replace(/\/+$/, '')}/.well-known/jwks.json` }) => {
    const source = typeof jwks === 'string' ? { ...options, url: jwks } : { jwks }
    return { issuer, keys: openKeySource(source) }
  })
}

/** The refusal for an error of the key lookup; undefined for any other error. */
export function keyRefusal(error: unknown): DeliveryRefusal | undefined {
  if (error instanceof KeysUnavailable) {
    const message = 'The keys of the sender cannot be fetched: try again later.'
    return new DeliveryRefusal('keys-unavailable', message, { cause: error, retryAfter: 30 })
  }
  if (codeOf(error) === 'ERR_JWKS_NO_MATCHING_KEY') {
    return new DeliveryRefusal('unknown-key', 'The key that signed the delivery is not published by its sender.')
  }
  return undefined
}

export interface ProofOptions {
  readonly signers: readonly SignerKeys[]
  /** The public URL of the receiver, without a query. */
  readonly url: string
  /** Maximum age of a signature, in seconds. */
  readonly maxAge: number
  /** Tolerated clock difference, in seconds. */
  readonly clockSkew: number
  readonly now: () => number
}

/** Proof that a signer recently sent this body to this receiver. */
export interface Proof {
  readonly issuer: string
  readonly signature: string
  /** When the delivery was signed, in milliseconds since 1970. */
  readonly signedAt: number
  readonly deliveryId?: string
}

/** Undefined if the delivery has no signature. If it has a token and an HTTP signature, both must be valid. */
export async function verifyProof(
  incoming: Incoming,
  body: Uint8Array,
  options: ProofOptions,
): Promise<Proof | undefined> {
  const token = incoming.header(pushHeaders.signature) ?? jwtIn(bearerOf(incoming))
  const input = incoming.header('signature-input')
  if (token === undefined && input === undefined) return undefined
  // Loaded only when a signed delivery arrives.
  const { verifyToken, verifyHttpSignature } = await import('./verify-signature.ts')
  const byToken = token === undefined ? undefined : await verifyToken(token, incoming, body, options)
  const byMessage = input === undefined ? undefined : await verifyHttpSignature(input, incoming, body, options)
  if (byToken && byMessage && byToken.issuer !== byMessage.issuer) {
    throw new DeliveryRefusal('signature', 'The two signatures of the delivery belong to different senders.')
  }
  return byToken ?? byMessage
}

/** Reads the token from the A2A header or from the credentials of the config. Undefined if there is no token of ours. */
export async function findRegistration(incoming: Incoming, registrations: Registrations) {
  const token = incoming.header(pushHeaders.token)
  const credential = token ?? bearerOf(incoming)
  const registration = credential === undefined ? undefined : await registrations.recognise(credential)
  if (!registration && token !== undefined) {
    throw new DeliveryRefusal('token', `The ${pushHeaders.token} was not issued by this receiver.`)
  }
  return registration
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** The token, if it is a JSON Web Token; other tokens do not sign anything. */
function jwtIn(token: string | undefined): string | undefined {
  return token !== undefined && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? token : undefined
}

function bearerOf(incoming: Incoming): string | undefined {
  return /^bearer +(\S+)$/i.exec(incoming.header(pushHeaders.authorization) ?? '')?.[1]
}
