import canonicalize from 'canonicalize'
import { fromBase64, toBase64 } from '../core/base/base64.ts'
import { toHex } from '../core/base/hash.ts'
import { isObject } from '../core/base/json.ts'
import type { MeshAuth, MeshCard, MeshEnvelope } from './envelope.ts'
import { MeshError, type StandardCode } from './errors.ts'
import type { FirstHandshakeKeys, MeshKeySource } from './key-sources.ts'
import { importPublicKey, type MeshKey, type MeshSigningKey } from './keys.ts'

const encoder = new TextEncoder()

/** Maximum age of a message, and how far it may be ahead of the local clock, in milliseconds, both inclusive. */
const maxAge = 300_000

const maxAhead = 60_000

/** How far the clocks of replicas may differ, and a clock may be set back, in milliseconds. */
const clockTolerance = 10_000

/** Adds the authentication tag of the sender, with the timestamp of the envelope. */
export async function signEnvelope<E extends MeshEnvelope>(envelope: E, key: MeshSigningKey): Promise<E> {
  const tag = createTag(envelope, key)
  const signature = await key.sign(encoder.encode(canonicalText(envelope, tag)))
  return { ...envelope, auth: { ...tag, signature: toBase64(signature) } }
}

/**
 * The JSON text of an envelope with the same tag, whose payload keeps the order of its members. The envelope must have no
 * other members than those of its type: then the signed text has all others as they are sent, and they are written once.
 */
export async function signedText(envelope: MeshEnvelope, key: MeshSigningKey): Promise<string> {
  const { start, end } = textAround(envelope, createTag(envelope, key))
  const signed = `${start}${canonicalize(envelope.payload)}${end}`
  // The first timestamp is that of the tag: its members come first, and quotes in their values are escaped.
  const at = start.indexOf(',"timestamp":')
  // Written before the signature is awaited: its author may change the payload meanwhile.
  const rest = `${start.slice(at)}${JSON.stringify(envelope.payload)}${end}`
  const signature = toBase64(await key.sign(encoder.encode(signed)))
  return `${start.slice(0, at)},"signature":"${signature}"${rest}`
}

type UnsignedTag = Omit<MeshAuth, 'signature'>

function createTag({ sender_id, timestamp }: MeshEnvelope, key: MeshSigningKey): UnsignedTag {
  return { agent_id: sender_id, timestamp, nonce: createNonce(), public_key_fingerprint: key.fingerprint }
}

const nonceLength = 16

/** Random bytes for several nonces: a call for 16 bytes takes as long as one for a thousand. */
const randomBytes = new Uint8Array(64 * nonceLength)

let usedBytes = randomBytes.length

function createNonce(): string {
  if (usedBytes === randomBytes.length) {
    crypto.getRandomValues(randomBytes)
    usedBytes = 0
  }
  usedBytes += nonceLength
  return toHex(randomBytes.subarray(usedBytes - nonceLength, usedBytes))
}

/** How long every message must be remembered, in milliseconds; later it is too old to be replayed. */
export const replayWindow = maxAge + maxAhead + clockTolerance

export interface AuthenticationOptions {
  /** Rejects messages that are not signed by a known key. */
  readonly requireAuth: boolean
  readonly keys?: MeshKeySource
  /** Accepts the key that an unknown agent presents in its first handshake (`metadata.public_key` of its card). */
  readonly firstHandshake?: FirstHandshakeKeys
  readonly now: () => number
}

/** The sender of a message, proven by its signature. */
export interface MeshIdentity {
  readonly agentId: string
  readonly fingerprint: string
}

export type Authenticate = (envelope: MeshEnvelope) => Promise<MeshIdentity | undefined>

export function createAuthenticate({ requireAuth, keys, firstHandshake, now }: AuthenticationOptions): Authenticate {
  async function keysOf(agentId: string): Promise<readonly MeshKey[]> {
    const configured = (await keys?.keysOf(agentId)) ?? []
    return configured.length > 0 ? configured : ((await firstHandshake?.keysOf(agentId)) ?? [])
  }

  /** The key in the card of an unknown agent, if the message is signed with that key. */
  async function keyFromHandshake(envelope: MeshEnvelope): Promise<MeshKey | undefined> {
    const material = keyIn(cardIn(envelope))
    if (!firstHandshake || material === undefined) return undefined
    const key = await importPublicKey(material).catch(() => undefined)
    if (!key || !(await isEnvelopeSignedBy(envelope, key))) return undefined
    return firstHandshake.learn(envelope.sender_id, key) ? key : undefined
  }

  return async (envelope) => {
    const { auth, sender_id } = envelope
    if (auth === undefined) {
      if (requireAuth) throw authenticationError('MISSING', 'The message is not signed: add auth.')
      return undefined
    }
    if (auth.agent_id !== sender_id) throw authenticationError('AGENT_MISMATCH', 'auth.agent_id is not the sender_id.')
    checkFresh(auth.timestamp, now(), 'AUTHENTICATION_FAILED')
    const isSameTime = auth.timestamp === envelope.timestamp
    if (!isSameTime && Math.abs(Date.parse(auth.timestamp) - Date.parse(envelope.timestamp)) > maxAhead) {
      throw authenticationError('TIMESTAMP_MISMATCH', 'auth.timestamp and timestamp are more than 60 seconds apart.')
    }
    const senderKeys = await keysOf(sender_id)
    if (senderKeys.length === 0) {
      const newKey = await keyFromHandshake(envelope)
      if (newKey) return { agentId: sender_id, fingerprint: newKey.fingerprint }
      if (!requireAuth) return undefined
      throw authenticationError('UNKNOWN_KEY', `No key of ${sender_id} is known here.`)
    }
    const { public_key_fingerprint: hint } = auth
    const candidates =
      hint === undefined ? senderKeys : senderKeys.filter(({ fingerprint }) => fingerprint.startsWith(hint))
    if (candidates.length === 0)
      throw authenticationError('UNKNOWN_KEY', `${sender_id} has no key with this fingerprint.`)
    for (const key of candidates) {
      if (await isEnvelopeSignedBy(envelope, key)) return { agentId: sender_id, fingerprint: key.fingerprint }
    }
    throw authenticationError('BAD_SIGNATURE', 'The signature does not match the message and its sender.')
  }
}

/** Returns whether an envelope has a valid signature by this key. */
export async function isEnvelopeSignedBy(envelope: MeshEnvelope, key: MeshKey): Promise<boolean> {
  if (envelope.auth === undefined) return false
  const signature = fromBase64(envelope.auth.signature)
  return signature !== undefined && (await key.verify(signedBytes(envelope), signature))
}

/** Throws if the timestamp is too old or too far ahead. */
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

/** The signed bytes: the canonical form (RFC 8785) of the envelope without the signature. */
export function signedBytes(envelope: MeshEnvelope): Uint8Array<ArrayBuffer> {
  const { auth } = envelope
  if (auth === undefined) throw new TypeError('An envelope without auth has no signature.')
  return encoder.encode(canonicalText(envelope, auth))
}

/**
 * The canonical form of an envelope with this tag, without its signature. The order of these members is known, so that
 * only the payload has to be sorted. An envelope with any other member is sorted as a whole.
 */
function canonicalText(envelope: MeshEnvelope, tag: MeshAuth | UnsignedTag): string {
  if (!hasOnly(envelope, envelopeMembers) || !hasOnly(tag, tagMembers)) {
    const { signature: _, ...auth } = tag as MeshAuth
    return canonicalize({ ...envelope, auth }) ?? ''
  }
  const { start, end } = textAround(envelope, tag)
  return `${start}${canonicalize(envelope.payload)}${end}`
}

/** The canonical form before and after the payload. */
function textAround(envelope: MeshEnvelope, tag: MeshAuth | UnsignedTag) {
  const { agent_id, nonce, public_key_fingerprint, timestamp } = tag
  const { correlation_id, message_id, message_type, recipient_id, sender_id } = envelope
  const auth = { agent_id, nonce, public_key_fingerprint, timestamp }
  const start = JSON.stringify({ auth, correlation_id, message_id, message_type })
  const end = JSON.stringify({ recipient_id, sender_id, timestamp: envelope.timestamp })
  return { start: `${start.slice(0, -1)},"payload":`, end: `,${end.slice(1)}` }
}

const envelopeMembers: ReadonlySet<string> = new Set([
  'auth',
  'correlation_id',
  'message_id',
  'message_type',
  'payload',
  'recipient_id',
  'sender_id',
  'timestamp',
] satisfies (keyof MeshEnvelope)[])

const tagMembers: ReadonlySet<string> = new Set([
  'agent_id',
  'nonce',
  'public_key_fingerprint',
  'signature',
  'timestamp',
] satisfies (keyof MeshAuth)[])

function hasOnly(value: object, members: ReadonlySet<string>): boolean {
  for (const name in value) if (!members.has(name)) return false
  return true
}

function keyIn(card: MeshCard | undefined): string | JsonWebKey | undefined {
  const key = card?.metadata?.public_key
  return typeof key === 'string' || isObject(key) ? (key as string | JsonWebKey) : undefined
}

function cardIn({ message_type, payload }: MeshEnvelope): MeshCard | undefined {
  return message_type === 'handshake' || message_type === 'handshake_ack' ? payload.agent_card : undefined
}

function authenticationError(reason: string, message: string): MeshError {
  return new MeshError('AUTHENTICATION_FAILED', message, { details: { reason } })
}
