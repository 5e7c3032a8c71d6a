import { BoundedMap } from '../core/base/bounded-map.ts'
import type { MeshCard } from './envelope.ts'
import type { VersionAgreement } from './versions.ts'

const noSession: MeshSession = { state: 'none' }

/** The state of the handshake with another agent. A goodbye ends it; a new handshake restarts it. */
export type MeshSession =
  | { readonly state: 'none' }
  | { readonly state: 'sent' }
  | { readonly state: 'established'; readonly card: MeshCard; readonly agreement: VersionAgreement }
  | { readonly state: 'goodbye'; readonly reconnectAfter?: number }

export type SessionEvent =
  | { readonly type: 'handshake-sent' }
  /** Also when the other agent sent the handshake. */
  | { readonly type: 'agreed'; readonly card: MeshCard; readonly agreement: VersionAgreement }
  | { readonly type: 'failed' }
  | { readonly type: 'goodbye'; readonly reconnectAfter?: number }

export interface Sessions {
  get(agentId: string): MeshSession
  apply(agentId: string, event: SessionEvent): MeshSession
}

/** Keeps at most `capacity` sessions; agents that were quiet have to send a handshake again. */
export function createSessions({ capacity = 10_000 } = {}): Sessions {
  const sessions = new BoundedMap<string, MeshSession>(capacity)
  return {
    get: (agentId) => sessions.get(agentId) ?? noSession,
    apply(agentId, event) {
      const session = nextSession(sessions.get(agentId) ?? noSession, event)
      sessions.set(agentId, session)
      return session
    },
  }
}

export function nextSession(session: MeshSession, event: SessionEvent): MeshSession {
  switch (event.type) {
    case 'handshake-sent':
      // The last agreement holds until a new one replaces it.
      return session.state === 'established' ? session : { state: 'sent' }
    case 'agreed':
      return { state: 'established', card: event.card, agreement: event.agreement }
    case 'failed':
      return session.state === 'sent' ? noSession : session
    case 'goodbye':
      return { state: 'goodbye', reconnectAfter: event.reconnectAfter }
  }
}
