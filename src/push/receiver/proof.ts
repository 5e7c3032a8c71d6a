import type { Incoming } from '../../http/exchange.ts'
import { pushHeaders } from '../headers.ts'
import { Refusal } from './refusal.ts'
import type { Registrations } from './registrations.ts'
import type { Proof, ProofOptions } from './signed.ts'

/** Undefined if the delivery bears no signature. Of one that bears two, both must be valid. */
export async function proofOf(incoming: Incoming, body: Uint8Array, options: ProofOptions): Promise<Proof | undefined> {
  const token = incoming.header(pushHeaders.signature) ?? jwtIn(bearerOf(incoming))
  const input = incoming.header('signature-input')
  if (token === undefined && input === undefined) return undefined
  // Loaded by those to whom signed deliveries come.
  const { verifyToken, verifyHttpSignature } = await import('./verify.ts')
  const byToken = token === undefined ? undefined : await verifyToken(token, incoming, body, options)
  const byMessage = input === undefined ? undefined : await verifyHttpSignature(input, incoming, body, options)
  if (byToken && byMessage && byToken.issuer !== byMessage.issuer) {
    throw new Refusal('signature', 'The two signatures of the delivery are of different senders.')
  }
  return byToken ?? byMessage
}

/** Other tokens are no signatures. */
function jwtIn(token: string | undefined): string | undefined {
  return token !== undefined && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token) ? token : undefined
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

function bearerOf(incoming: Incoming): string | undefined {
  return /^bearer +(\S+)$/i.exec(incoming.header(pushHeaders.authorization) ?? '')?.[1]
}
