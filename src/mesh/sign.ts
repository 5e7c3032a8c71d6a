import canonicalize from 'canonicalize'
import type { MeshAuth, MeshEnvelope } from './envelope.ts'
import { fromBase64, toBase64, toHex } from './key-material.ts'
import type { MeshKey, MeshSigningKey } from './keys.ts'

const encoder = new TextEncoder()

/** What is signed: the canonical form (RFC 8785) of the envelope with everything but the signature itself. */
export function signedBytes(envelope: MeshEnvelope): Uint8Array<ArrayBuffer> {
  const { auth } = envelope
  if (auth === undefined) throw new TypeError('An envelope without auth has nothing to be signed with.')
  const { signature: _, ...rest } = auth
  return encoder.encode(canonicalize({ ...envelope, auth: rest }))
}

/** The same envelope with the tag of its sender. Its time is that of the envelope. */
export async function sign<E extends MeshEnvelope>(envelope: E, key: MeshSigningKey): Promise<E> {
  const auth: Omit<MeshAuth, 'signature'> = {
    agent_id: envelope.sender_id,
    timestamp: envelope.timestamp,
    nonce: toHex(crypto.getRandomValues(new Uint8Array(16))),
    public_key_fingerprint: key.fingerprint,
  }
  const signature = await key.sign(encoder.encode(canonicalize({ ...envelope, auth })))
  return { ...envelope, auth: { ...auth, signature: toBase64(signature) } }
}

export async function isSignedBy(envelope: MeshEnvelope, key: MeshKey): Promise<boolean> {
  if (envelope.auth === undefined) return false
  return await key.verify(signedBytes(envelope), fromBase64(envelope.auth.signature))
}
