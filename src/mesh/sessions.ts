import { BoundedMap } from '../base/bounded-map.ts'
import type { MeshCard } from './envelope.ts'
import type { Agreement } from './versions.ts'

const strangers: Session = { state: 'none' }

/** How far we are with another agent. A goodbye ends it, and a new handshake begins it anew. */
export type Session =
  | { readonly state: 'none' }
  | { readonly state: 'sent' }
  | { readonly state: 'established'; readonly card: MeshCard; readonly agreement: Agreement }
  | { readonly state: 'goodbye'; readonly reconnectAfter?: number }

export type SessionEvent =
  | { readonly type: 'handshake-sent' }
  /** Also when their handshake came to us. */
  | { readonly type: 'agreed'; readonly card: MeshCard; readonly agreement: Agreement }
  | { readonly type: 'failed' }
  | { readonly type: 'goodbye'; readonly reconnectAfter?: number }

export interface Sessions {
  get(agentId: string): Session
  apply(agentId: string, event: SessionEvent): Session
}

/** Bounded: of more agents than that, those of whom nothing was heard for longest are strangers again. */
export function createSessions({ capacity = 10_000 } = {}): Sessions {
  const sessions = new BoundedMap<string, Session>(capacity)
  return {
    get: (agentId) => sessions.get(agentId) ?? strangers,
    apply(agentId, event) {
      const session = advance(sessions.get(agentId) ?? strangers, event)
      sessions.set(agentId, session)
      return session
    },
  }
}

/** Where an event leads. */
export function advance(session: Session, event: SessionEvent): Session {
  switch (event.type) {
    case 'handshake-sent':
      // What was agreed holds until something else is.
      return session.state === 'established' ? session : { state: 'sent' }
    case 'agreed':
      return { state: 'established', card: event.card, agreement: event.agreement }
    case 'failed':
      return session.state === 'sent' ? strangers : session
    case 'goodbye':
      return { state: 'goodbye', reconnectAfter: event.reconnectAfter }
  }
}
