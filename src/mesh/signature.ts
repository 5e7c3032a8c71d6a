import canonicalize from 'canonicalize'
import { fromBase64, toBase64 } from '../base/base64.ts'
import { toHex } from '../base/hash.ts'
import { isObject } from '../base/json.ts'
import type { MeshAuth, MeshCard, MeshEnvelope } from './envelope.ts'
import { MeshError, type StandardCode } from './errors.ts'
import type { FirstHandshakeKeys, MeshKeySource } from './key-sources.ts'
import { importPublicKey, type MeshKey, type MeshSigningKey } from './keys.ts'

const encoder = new TextEncoder()

/** How many milliseconds a message may be old, and ahead of our clock; both bounds are still fine. */
const maxAge = 300_000

const maxAhead = 60_000

/** By how much the clocks of replicas may differ, and a clock may be set back. */
const slack = 10_000

/** The same envelope with the tag of its sender. Its time is that of the envelope. */
export async function signEnvelope<E extends MeshEnvelope>(envelope: E, key: MeshSigningKey): Promise<E> {
  const auth: Omit<MeshAuth, 'signature'> = {
    agent_id: envelope.sender_id,
    timestamp: envelope.timestamp,
    nonce: toHex(crypto.getRandomValues(new Uint8Array(16))),
    public_key_fingerprint: key.fingerprint,
  }
  const signature = await key.sign(encoder.encode(canonicalize({ ...envelope, auth })))
  return { ...envelope, auth: { ...auth, signature: toBase64(signature) } }
}

/** For so long every message that was seen is remembered: nobody can be asked to take it again later. */
export const memory = maxAge + maxAhead + slack

export interface AuthenticationOptions {
  /** Refuse what is not signed by a known key. */
  readonly requireAuth: boolean
  readonly keys?: MeshKeySource
  /** Take the key that an unknown agent shows in its first handshake (`metadata.public_key` of its card). */
  readonly firstHandshake?: FirstHandshakeKeys
  readonly now: () => number
}

/** Who sent a message, proven by its signature. */
export interface MeshIdentity {
  readonly agentId: string
  readonly fingerprint: string
}

export type Authenticate = (envelope: MeshEnvelope) => Promise<MeshIdentity | undefined>

export function createAuthenticate({ requireAuth, keys, firstHandshake, now }: AuthenticationOptions): Authenticate {
  async function keysOf(agentId: string): Promise<readonly MeshKey[]> {
    const known = (await keys?.keysOf(agentId)) ?? []
    return known.length > 0 ? known : ((await firstHandshake?.keysOf(agentId)) ?? [])
  }

  /** The key of a newcomer, if it has signed with the one that it shows. */
  async function introduce(envelope: MeshEnvelope): Promise<MeshKey | undefined> {
    const material = keyIn(cardIn(envelope))
    if (!firstHandshake || material === undefined) return undefined
    const key = await importPublicKey(material).catch(() => undefined)
    if (!key || !(await isEnvelopeSignedBy(envelope, key))) return undefined
    return firstHandshake.learn(envelope.sender_id, key) ? key : undefined
  }

  return async (envelope) => {
    const { auth, sender_id } = envelope
    if (auth === undefined) {
      if (requireAuth) throw refused('MISSING', 'The message is not signed: add auth.')
      return undefined
    }
    if (auth.agent_id !== sender_id) throw refused('AGENT_MISMATCH', 'auth.agent_id is not the sender_id.')
    checkFresh(auth.timestamp, now(), 'AUTHENTICATION_FAILED')
    if (Math.abs(Date.parse(auth.timestamp) - Date.parse(envelope.timestamp)) > maxAhead) {
      throw refused('TIMESTAMP_MISMATCH', 'auth.timestamp and timestamp are more than 60 seconds apart.')
    }
    const known = await keysOf(sender_id)
    if (known.length === 0) {
      const newcomer = await introduce(envelope)
      if (newcomer) return { agentId: sender_id, fingerprint: newcomer.fingerprint }
      if (!requireAuth) return undefined
      throw refused('UNKNOWN_KEY', `No key of ${sender_id} is known here.`)
    }
    const { public_key_fingerprint: hint } = auth
    const named = hint === undefined ? known : known.filter(({ fingerprint }) => fingerprint.startsWith(hint))
    if (named.length === 0) throw refused('UNKNOWN_KEY', `The key with this fingerprint is none of ${sender_id}'s.`)
    for (const key of named) {
      if (await isEnvelopeSignedBy(envelope, key)) return { agentId: sender_id, fingerprint: key.fingerprint }
    }
    throw refused('BAD_SIGNATURE', 'The signature does not fit the message and its sender.')
  }
}

export async function isEnvelopeSignedBy(envelope: MeshEnvelope, key: MeshKey): Promise<boolean> {
  if (envelope.auth === undefined) return false
  const signature = fromBase64(envelope.auth.signature)
  return signature !== undefined && (await key.verify(signedBytes(envelope), signature))
}

/** Throws unless the moment is of now. */
export function checkFresh(timestamp: string, now: number, code: StandardCode = 'VALIDATION_FAILED'): void {
  const age = now - Date.parse(timestamp)
  if (age > maxAge) {
    throw new MeshError(code, `The message is older than ${maxAge / 1000} seconds: send a new one.`, {
      details: { reason: 'STALE', age_seconds: Math.round(age / 1000) },
    })
  }
  if (age < -maxAhead) {
    throw new MeshError(
      code,
      `The message is more than ${maxAhead / 1000} seconds ahead: set the clock of its sender.`,
      {
        details: { reason: 'FUTURE', ahead_seconds: Math.round(-age / 1000) },
      },
    )
  }
}

/** What is signed: the canonical form (RFC 8785) of the envelope with everything but the signature itself. */
export function signedBytes(envelope: MeshEnvelope): Uint8Array<ArrayBuffer> {
  const { auth } = envelope
  if (auth === undefined) throw new TypeError('An envelope without auth has nothing to be signed with.')
  const { signature: _, ...rest } = auth
  return encoder.encode(canonicalize({ ...envelope, auth: rest }))
}

function keyIn(card: MeshCard | undefined): string | JsonWebKey | undefined {
  const shown = card?.metadata?.public_key
  return typeof shown === 'string' || isObject(shown) ? (shown as string | JsonWebKey) : undefined
}

function cardIn({ message_type, payload }: MeshEnvelope): MeshCard | undefined {
  return message_type === 'handshake' || message_type === 'handshake_ack' ? payload.agent_card : undefined
}

function refused(reason: string, message: string): MeshError {
  return new MeshError('AUTHENTICATION_FAILED', message, { details: { reason } })
}
