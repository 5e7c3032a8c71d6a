import type { MeshEnvelope } from './envelope.ts'
import type { MeshSigningKey } from './keys.ts'
import { sign } from './sign.ts'

type DraftOf<E> = E extends MeshEnvelope
  ? Omit<E, 'message_id' | 'timestamp' | 'auth' | 'sender_id'> & { readonly sender_id?: string }
  : never

/** What its writer has to say; the rest of an envelope goes without saying. */
export type Draft = DraftOf<MeshEnvelope>

export interface Written {
  readonly messageId: string
  readonly text: string
}

export type WriteEnvelope = (draft: Draft) => Promise<Written>

export interface WriteOptions {
  readonly agentId: string
  /** Without one, envelopes are not signed. */
  readonly key?: MeshSigningKey
  readonly now: () => number
}

/** Gives envelopes an id, a time and a signature. */
export function createWriter({ agentId, key, now }: WriteOptions): WriteEnvelope {
  return async (draft) => {
    const messageId = crypto.randomUUID()
    const envelope = {
      message_id: messageId,
      message_type: draft.message_type,
      sender_id: draft.sender_id ?? agentId,
      recipient_id: draft.recipient_id,
      timestamp: new Date(now()).toISOString(),
      payload: draft.payload,
      correlation_id: draft.correlation_id ?? null,
    } as MeshEnvelope
    return { messageId, text: JSON.stringify(key ? await sign(envelope, key) : envelope) }
  }
}
