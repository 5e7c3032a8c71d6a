import type { JWK } from 'jose'
import { openKeySource, type RemoteKeySetOptions } from '../../auth/jwt-keys.ts'
import type { Incoming } from '../../http/exchange.ts'
import { pushHeaders } from '../request.ts'
import { DeliveryRefusal } from './refusal.ts'
import type { Registrations } from './registration-tokens.ts'
import type { Proof, ProofOptions, SignerKeys } from './verify-signature.ts'

/** An agent whose signatures the receiver accepts. */
export interface Signer {
  /** The issuer of its tokens (`iss`): the URL of the agent. */
  readonly issuer: string
  /** The URL of its keys, or the keys themselves. Defaults to `/.well-known/jwks.json` of the issuer. */
  readonly jwks?: string | readonly JWK[]
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

/** The token, if it is a JSON Web Token; other tokens do not sign anything. */
function jwtIn(token: string | undefined): string | undefined {
  return token !== undefined && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? token : undefined
}

function bearerOf(incoming: Incoming): string | undefined {
  return /^bearer +(\S+)$/i.exec(incoming.header(pushHeaders.authorization) ?? '')?.[1]
}
