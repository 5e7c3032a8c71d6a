import type { JWK, JWTVerifyGetKey } from 'jose'
import { KeysUnavailable, keysOf, type RemoteKeysOptions } from '../../auth/jwt.ts'
import type { Incoming } from '../../http/exchange.ts'
import { pushHeaders } from '../request.ts'
import { Refusal } from './refusal.ts'
import type { Registrations } from './registration-tokens.ts'

/** Somebody whose signatures are believed. */
export interface Signer {
  /** As its tokens name it (`iss`): the address of the agent. */
  readonly issuer: string
  /** Where its keys are published, or themselves. At `/.well-known/jwks.json` of the issuer by default. */
  readonly jwks?: string | readonly JWK[]
}

export interface KnownSigner {
  readonly issuer: string
  readonly keys: JWTVerifyGetKey
}

export function knownSigners(
  signers: readonly Signer[],
  options: Omit<RemoteKeysOptions, 'url'>,
): readonly KnownSigner[] {
  return signers.map(({ issuer, jwks = `${issuer.replace(/\/+$/, '')}/.well-known/jwks.json` }) => {
    const source = typeof jwks === 'string' ? { ...options, url: jwks } : { jwks }
    return { issuer, keys: keysOf(source) }
  })
}

/** What goes wrong with keys, said to the sender. Others is thrown as it came. */
export function keyProblem(error: unknown): Refusal | undefined {
  if (error instanceof KeysUnavailable) {
    const message = 'The keys of the sender cannot be fetched: try again later.'
    return new Refusal('keys-unavailable', message, { cause: error, retryAfter: 30 })
  }
  if (codeOf(error) === 'ERR_JWKS_NO_MATCHING_KEY') {
    return new Refusal('unknown-key', 'The key that signed the delivery is not among those of its sender.')
  }
  return undefined
}

export interface ProofOptions {
  readonly signers: readonly KnownSigner[]
  /** The address of the receiver, as senders know it, without a query. */
  readonly url: string
  /** Seconds. */
  readonly maxAge: number
  readonly clockSkew: number
  readonly now: () => number
}

/** That a signer has sent this very body here, just now. */
export interface Proof {
  readonly issuer: string
  readonly signature: string
  /** Milliseconds since 1970. */
  readonly signedAt: number
  readonly deliveryId?: string
}

/** Undefined if the delivery bears no signature. Of one that bears two, both must be valid. */
export async function proofOf(incoming: Incoming, body: Uint8Array, options: ProofOptions): Promise<Proof | undefined> {
  const token = incoming.header(pushHeaders.signature) ?? jwtIn(bearerOf(incoming))
  const input = incoming.header('signature-input')
  if (token === undefined && input === undefined) return undefined
  // Loaded by those to whom signed deliveries come.
  const { verifyToken, verifyHttpSignature } = await import('./verify-signature.ts')
  const byToken = token === undefined ? undefined : await verifyToken(token, incoming, body, options)
  const byMessage = input === undefined ? undefined : await verifyHttpSignature(input, incoming, body, options)
  if (byToken && byMessage && byToken.issuer !== byMessage.issuer) {
    throw new Refusal('signature', 'The two signatures of the delivery are of different senders.')
  }
  return byToken ?? byMessage
}

/** By the header that A2A has for it, or as the credentials of the config. Undefined if there is none that is ours. */
export async function registrationOf(incoming: Incoming, registrations: Registrations) {
  const token = incoming.header(pushHeaders.token)
  const shown = token ?? bearerOf(incoming)
  const found = shown === undefined ? undefined : await registrations.recognise(shown)
  if (!found && token !== undefined) {
    throw new Refusal('token', `The ${pushHeaders.token} is none that was given out here.`)
  }
  return found
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** Other tokens are no signatures. */
function jwtIn(token: string | undefined): string | undefined {
  return token !== undefined && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? token : undefined
}

function bearerOf(incoming: Incoming): string | undefined {
  return /^bearer +(\S+)$/i.exec(incoming.header(pushHeaders.authorization) ?? '')?.[1]
}
