import type { Trace } from '../base/trace-context.ts'
import type { Exchange } from '../http/exchange.ts'
import { type Fetch, toFetch } from '../http/fetch.ts'
import { createHttpCarrier } from './carrier.ts'
import { createDispatch } from './dispatch.ts'
import { createReader, createWriter } from './envelope-codec.ts'
import { createMeshExchange } from './http-server.ts'
import { createLink, type MeshLink } from './link.ts'
import type { MeshPeerOptions } from './options.ts'
import { AgentCard } from './payloads.ts'
import { createReceive, type MeshReply } from './receive.ts'
import { createSessions, type Session } from './sessions.ts'
import { createAuthenticate } from './signature.ts'
import { attachSession, createSocketCarrier, type MeshSocket, type SocketOptions } from './websocket.ts'

export interface LinkTo {
  readonly agentId: string
  /** Milliseconds that an answer may take; 30 seconds unless it is given. */
  readonly timeout?: number
}

export interface HttpLinkTo extends LinkTo {
  /** Where its envelopes are posted. */
  readonly endpoint: string
  /** A guarded one, if the endpoint was named by somebody else. */
  readonly fetch?: Fetch
}

export interface SocketLinkTo extends LinkTo, SocketOptions {
  /** `ws:` or `wss:`. */
  readonly url: string
  /** Opens a connection, such as one of the package `ws` with headers of your own. */
  readonly open?: (url: string) => MeshSocket
}

/** An agent in the mesh: it answers the others, and talks to them. */
export interface MeshPeer {
  readonly agentId: string
  /** For a host of ours. */
  readonly exchange: Exchange
  /** Wherever `fetch` handlers run. */
  readonly fetch: (request: Request) => Promise<Response>
  /** One envelope, however it came. */
  receive(bytes: Uint8Array, trace?: Trace): Promise<MeshReply>
  /** A WebSocket that was opened by another agent, of the package `ws` or its like. */
  accept(socket: MeshSocket, options?: SocketOptions): void
  /** Another agent by HTTP. */
  link(to: HttpLinkTo): MeshLink
  /** Another agent by WebSocket: one connection, many envelopes. */
  connect(to: SocketLinkTo): MeshLink
  sessionWith(agentId: string): Session
}

export function createMeshPeer(options: MeshPeerOptions): MeshPeer {
  const { key, keys, firstHandshake, maxBytes, now = Date.now, lenientIds = false } = options
  const { requireAuth = globalThis.process?.env.NODE_ENV !== 'development', timeout = 30_000 } = options
  checkOptions(options, requireAuth)
  const card = key && firstHandshake ? withKey(options.card, key.jwk) : options.card
  const agentId = card.agent_id
  const sessions = createSessions()
  const read = createReader({ lenientIds, maxBytes })
  const write = createWriter({ agentId, key, now })
  const authenticate = createAuthenticate({ requireAuth, keys, firstHandshake, now })
  const methods = new Map(Object.entries(options.methods ?? {}))
  const dispatch = createDispatch({ ...options, card, methods, sessions })
  const names = options.directory ? [agentId, 'registry'] : [agentId]
  const receive = createReceive({ ...options, names, read, write, authenticate, dispatch, now })
  const exchange = createMeshExchange(receive, { maxBytes })
  const linking = { card, write, authenticate, sessions, now, telemetry: options.telemetry }

  return {
    agentId,
    exchange,
    fetch: toFetch(exchange),
    receive,
    accept: (socket, socketOptions) =>
      attachSession(socket, { ...socketOptions, read, receive, maxBytes, isServer: true }),
    link({ agentId: other, timeout: patience = timeout, ...way }) {
      const carrier = createHttpCarrier({ ...way, read, maxBytes })
      return createLink({ ...linking, agentId: other, carrier, timeout: patience })
    },
    connect({ agentId: other, timeout: patience = timeout, url, open = openGlobal, ...socketOptions }) {
      const carrier = createSocketCarrier({ ...socketOptions, open: () => open(url), read, receive, maxBytes })
      return createLink({ ...linking, agentId: other, carrier, timeout: patience })
    },
    sessionWith: (other) => sessions.get(other),
  }
}

function checkOptions({ card, key, keys, firstHandshake }: MeshPeerOptions, requireAuth: boolean): void {
  const fault = AgentCard['1.1.0'].check(card)
  if (fault) throw new TypeError(`The card is not valid: ${fault.path} ${fault.message}.`)
  if (!requireAuth) return
  if (!key) {
    throw new TypeError(
      'Messages must be signed: give a key (await generateSigningKey()), or requireAuth: false for development.',
    )
  }
  if (!keys && !firstHandshake) {
    throw new TypeError(
      'Messages must be signed, but no key of others is known: give keys, such as await configuredKeys({ … }), or firstHandshake: firstHandshakeKeys().',
    )
  }
}

/** So that others can trust us on our first handshake. */
function withKey(card: MeshPeerOptions['card'], jwk: JsonWebKey): MeshPeerOptions['card'] {
  const shown = JSON.parse(JSON.stringify(jwk))
  return { ...card, metadata: { public_key: shown, ...card.metadata } }
}

function openGlobal(url: string): MeshSocket {
  return new WebSocket(url) as MeshSocket
}
