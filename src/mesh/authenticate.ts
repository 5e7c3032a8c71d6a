import type { MeshCard, MeshEnvelope } from './envelope.ts'
import { MeshError } from './errors.ts'
import { isObject } from './form.ts'
import { checkFresh, maxAhead } from './freshness.ts'
import type { FirstHandshakeKeys, KeySource } from './key-sources.ts'
import { importPublicKey, type MeshKey } from './keys.ts'
import { isSignedBy } from './sign.ts'

/** Who sent a message, proven by its signature. */
export interface MeshIdentity {
  readonly agentId: string
  readonly fingerprint: string
}

export interface AuthenticationOptions {
  /** Refuse what is not signed by a known key. */
  readonly requireAuth: boolean
  readonly keys?: KeySource
  /** Take the key that an unknown agent shows in its first handshake (`metadata.public_key` of its card). */
  readonly firstHandshake?: FirstHandshakeKeys
  readonly now: () => number
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
    if (!key || !(await isSignedBy(envelope, key))) return undefined
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
      if (await isSignedBy(envelope, key)) return { agentId: sender_id, fingerprint: key.fingerprint }
    }
    throw refused('BAD_SIGNATURE', 'The signature does not fit the message and its sender.')
  }
}

function cardIn({ message_type, payload }: MeshEnvelope): MeshCard | undefined {
  return message_type === 'handshake' || message_type === 'handshake_ack' ? payload.agent_card : undefined
}

function keyIn(card: MeshCard | undefined): string | JsonWebKey | undefined {
  const shown = card?.metadata?.public_key
  return typeof shown === 'string' || isObject(shown) ? (shown as string | JsonWebKey) : undefined
}

function refused(reason: string, message: string): MeshError {
  return new MeshError('AUTHENTICATION_FAILED', message, { details: { reason } })
}
