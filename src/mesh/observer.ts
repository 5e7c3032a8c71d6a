import { defined } from '../core/base/json.ts'
import type { MeshEnvelope } from './envelope.ts'
import type { EnvelopeDraft, ReadEnvelope, WriteEnvelope } from './envelope-codec.ts'
import type { MeshSession, Sessions } from './sessions.ts'

/** Envelopes that a record keeps. */
const maxEnvelopes = 100

/** Peers that a record keeps. */
const maxPeers = 1_000

/** Characters of a text in a record. */
const maxText = 500

/** Observes what a peer sends and receives. Its methods must not throw. */
export interface MeshObserver {
  /** An envelope that was written or read. The sender of a received one is not authenticated yet. */
  envelope(envelope: Omit<ObservedEnvelope, 'at'>): void
  /** An envelope was rejected, or its request failed. */
  failed(id: string, problem: string): void
  /** An envelope of this peer has passed all checks. */
  seen(agentId: string): void
  session(agentId: string, session: MeshSession): void
}

/** An envelope without its payload. */
export interface ObservedEnvelope {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly direction: 'in' | 'out'
  readonly peer: string
  readonly type: string
  readonly id: string
  readonly problem?: string
}

/** A peer after its first handshake. */
export interface ObservedPeer {
  readonly id: string
  readonly url?: string
  readonly state: MeshSession['state']
  /** When the session got its state. */
  readonly since: number
  /** When its last envelope arrived. */
  readonly lastSeen?: number
}

/** Remembers the last envelopes and the peers with a session, in bounded memory. */
export interface MeshRecord extends MeshObserver {
  /** Those with the newest session first. */
  peers(): readonly ObservedPeer[]
  /** Newest first. */
  envelopes(): readonly ObservedEnvelope[]
}

/** `onEnvelope` gets each envelope, and gets it again if it fails later. It must not throw. */
export function createMeshRecord(
  onEnvelope: (envelope: ObservedEnvelope) => void = () => {},
  now: () => number = Date.now,
): MeshRecord {
  const envelopes: ObservedEnvelope[] = []
  const peers = new Map<string, ObservedPeer>()

  return {
    peers: () => [...peers.values()].reverse(),
    envelopes: () => envelopes.toReversed(),
    envelope(envelope) {
      const { peer, type, id, problem } = envelope
      if (envelopes.length >= maxEnvelopes) envelopes.shift()
      const observed = defined({
        at: now(),
        direction: envelope.direction,
        peer: shorten(peer),
        type: shorten(type),
        id: shorten(id),
        problem: problem === undefined ? undefined : shorten(problem),
      })
      envelopes.push(observed)
      onEnvelope(observed)
    },
    failed(id, problem) {
      const index = envelopes.findLastIndex((envelope) => envelope.id === id)
      const envelope = envelopes[index]
      if (!envelope) return
      const failed = { ...envelope, problem: shorten(problem) }
      envelopes[index] = failed
      onEnvelope(failed)
    },
    seen(agentId) {
      const peer = peers.get(agentId)
      if (peer) peers.set(agentId, { ...peer, lastSeen: now() })
    },
    session(agentId, session) {
      const { state } = session
      const existing = peers.get(agentId)
      if (existing === undefined && state === 'none') return
      const endpoint = state === 'established' ? session.card.metadata?.endpoint : existing?.url
      peers.delete(agentId)
      peers.set(
        agentId,
        defined({
          id: agentId,
          state,
          since: existing?.state === state ? existing.since : now(),
          url: typeof endpoint === 'string' ? shorten(endpoint) : undefined,
          lastSeen: existing?.lastSeen === undefined ? undefined : existing.lastSeen,
        }),
      )
      const [oldest] = peers.keys()
      if (peers.size > maxPeers && oldest !== undefined) peers.delete(oldest)
    },
  }
}

export function observeReads(read: ReadEnvelope, observer: MeshObserver): ReadEnvelope {
  return (bytes) => {
    const result = read(bytes)
    const { envelope, error } = result
    if (envelope) {
      const { message_id: id, message_type: type, sender_id: peer } = envelope
      const problem = problemOf(envelope)
      observer.envelope(defined({ direction: 'in', peer, type, id, problem }))
    } else if (result.origin) {
      const { messageId: id, senderId: peer, type } = result.origin
      observer.envelope({ direction: 'in', peer, type: `${type}`, id, problem: `${error.code}: ${error.message}` })
    }
    return result
  }
}

export function observeWrites(write: WriteEnvelope, observer: MeshObserver): WriteEnvelope {
  return async (draft) => {
    const written = await write(draft)
    const { message_type: type, recipient_id: peer } = draft
    const problem = problemOf(draft)
    const id = written.messageId
    observer.envelope(defined({ direction: 'out', peer, type, id, problem }))
    return written
  }
}

export function observeSessions(sessions: Sessions, observer: MeshObserver): Sessions {
  return {
    get: (agentId) => sessions.get(agentId),
    apply(agentId, event) {
      const session = sessions.apply(agentId, event)
      observer.session(agentId, session)
      return session
    },
  }
}

/** What an answer says about the failure of its request. */
function problemOf({ message_type, payload }: MeshEnvelope | EnvelopeDraft): string | undefined {
  if (message_type === 'error') return `${payload.error.code}: ${payload.error.message}`
  if (message_type === 'response' && payload.status === 'error') {
    return `${payload.error.code}: ${payload.error.message}`
  }
  if (message_type === 'handshake_ack' && !payload.accepted) return payload.reason
  return undefined
}

function shorten(text: string): string {
  return text.length > maxText ? `${text.slice(0, maxText - 1)}…` : text
}
