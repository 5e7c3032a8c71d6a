import { anything, checkOptions } from '../core/base/options.ts'
import type { Trace } from '../core/base/trace-context.ts'
import type { Exchange } from '../core/http/exchange.ts'
import { type Fetch, toFetch } from '../core/http/fetch.ts'
import { type CreatePost, createHttpCarrier } from './carrier.ts'
import { createDispatch } from './dispatch.ts'
import { createEnvelopeReader, createEnvelopeWriter } from './envelope-codec.ts'
import { createMeshExchange } from './http-server.ts'
import { createLink, type MeshLink } from './link.ts'
import { type MeshObserver, observeReads, observeSessions, observeWrites } from './observer.ts'
import { type MeshPeerOptions, meshPeerChecks } from './options.ts'
import { MeshAgentCard } from './payloads.ts'
import { createReceive, type MeshReply } from './receive.ts'
import { createSessions, type MeshSession } from './sessions.ts'
import { createAuthenticate } from './signature.ts'
import { ownSchemaVersions } from './versions.ts'
import { attachSession, createSocketCarrier, type MeshSocket, type SocketOptions } from './websocket.ts'

export interface PeerLinkOptions {
  readonly agentId: string
  /** Time limit of an answer in milliseconds. Defaults to the `timeout` of the peer. */
  readonly timeout?: number
}

export interface HttpLinkOptions extends PeerLinkOptions {
  /** The URL that accepts its envelopes. */
  readonly endpoint: string
  /** Pass a guarded fetch if the endpoint comes from another party. */
  readonly fetch?: Fetch
}

export interface SocketLinkOptions extends PeerLinkOptions, SocketOptions {
  /** `ws:` or `wss:`. */
  readonly url: string
  /** Opens a connection, for example with the package `ws` and custom headers. Defaults to the global `WebSocket`. */
  readonly open?: (url: string) => MeshSocket
}

/** An agent in the mesh: answers other peers and calls them. */
export interface MeshPeer {
  readonly agentId: string
  /** For the server of this package. */
  readonly exchange: Exchange
  /** For any platform with `fetch` handlers. */
  readonly fetch: (request: Request) => Promise<Response>
  /** Handles one envelope from any transport. */
  receive(bytes: Uint8Array, trace?: Trace): Promise<MeshReply>
  /** Serves a WebSocket that another agent opened, such as one of the package `ws`. */
  accept(socket: MeshSocket, options?: SocketOptions): void
  /** Links to another agent over HTTP. */
  link(to: HttpLinkOptions): MeshLink
  /** Links to another agent over one WebSocket. */
  connect(to: SocketLinkOptions): MeshLink
  sessionWith(agentId: string): MeshSession
}

/** Creates a mesh peer: it answers the envelopes of other peers with its methods, and opens links to call them. */
export function createMeshPeer(options: MeshPeerOptions): MeshPeer {
  return createMeshPeerBy({})(options)
}

export type CreateMeshPeer = (options: MeshPeerOptions) => MeshPeer

/** `createMeshPeer` for a platform. */
export function createMeshPeerBy(platform: MeshPlatform): CreateMeshPeer {
  return (options) => {
    // The card has a schema of its own.
    checkOptions('createMeshPeer', options, { ...meshPeerChecks, card: anything, directory: anything })
    return createObservedPeer(options, platform)
  }
}

/** What a peer does not take from its user. */
export interface MeshPlatform {
  /** Observes its envelopes and sessions. */
  readonly observer?: MeshObserver
  /** Sends the requests of links without a `fetch`. Defaults to the global `fetch`. */
  readonly createPost?: CreatePost
}

/** Creates a peer from options that were checked, among others. */
export function createObservedPeer(options: MeshPeerOptions, { observer, createPost }: MeshPlatform = {}): MeshPeer {
  const { key, keys, firstHandshake, maxBytes, now = Date.now, lenientIds = false } = options
  const { requireAuth = true, timeout = 30_000 } = options
  requireCardAndKeys(options, requireAuth)
  const card = key ? withKey(options.card, key.jwk) : options.card
  const agentId = card.agent_id
  const ownSessions = createSessions()
  const sessions = observer ? observeSessions(ownSessions, observer) : ownSessions
  const reader = createEnvelopeReader({ lenientIds, maxBytes })
  const read = observer ? observeReads(reader, observer) : reader
  const writer = createEnvelopeWriter({ agentId, key, now })
  const write = observer ? observeWrites(writer, observer) : writer
  const authenticate = createAuthenticate({ requireAuth, keys, firstHandshake, now })
  const methods = new Map(Object.entries(options.methods ?? {}))
  const dispatch = createDispatch({ ...options, card, methods, sessions })
  const names = options.directory ? [agentId, 'registry'] : [agentId]
  const receive = createReceive({ ...options, names, read, write, authenticate, dispatch, now, observer })
  const exchange = createMeshExchange(receive, options)
  const linkOptions = { card, write, authenticate, sessions, now, telemetry: options.telemetry, observer }

  return {
    agentId,
    exchange,
    fetch: toFetch(exchange),
    receive,
    accept: (socket, socketOptions) =>
      attachSession(socket, { ...socketOptions, read, receive, maxBytes, isServer: true }),
    link({ agentId: peerId, timeout: linkTimeout = timeout, ...httpOptions }) {
      const carrier = createHttpCarrier({ ...httpOptions, createPost, read, maxBytes })
      return createLink({ ...linkOptions, agentId: peerId, carrier, timeout: linkTimeout })
    },
    connect({ agentId: peerId, timeout: linkTimeout = timeout, url, open = openGlobal, ...socketOptions }) {
      const carrier = createSocketCarrier({ ...socketOptions, open: () => open(url), read, receive, maxBytes })
      return createLink({ ...linkOptions, agentId: peerId, carrier, timeout: linkTimeout })
    },
    sessionWith: (peerId) => sessions.get(peerId),
  }
}

function requireCardAndKeys({ card, key, keys, firstHandshake }: MeshPeerOptions, requireAuth: boolean): void {
  const violation = MeshAgentCard['1.1.0'].check(card)
  if (violation) throw new TypeError(`The card is not valid: ${violation.path} ${violation.message}.`)
  ownSchemaVersions(card)
  if (!requireAuth) return
  if (!key) {
    throw new TypeError(
      'Messages must be signed: give a key (await generateSigningKey()), or set requireAuth: false to accept unsigned messages from every peer.',
    )
  }
  if (!keys && !firstHandshake) {
    throw new TypeError(
      'Messages must be signed, but no key of others is known: give keys, such as await configuredKeys({ … }), or firstHandshake: firstHandshakeKeys().',
    )
  }
}

/** Shows the public key in the card, where other agents and the registry learn it. */
function withKey(card: MeshPeerOptions['card'], jwk: JsonWebKey): MeshPeerOptions['card'] {
  const publicKey = JSON.parse(JSON.stringify(jwk))
  return { ...card, metadata: { public_key: publicKey, ...card.metadata } }
}

function openGlobal(url: string): MeshSocket {
  return new WebSocket(url) as MeshSocket
}
