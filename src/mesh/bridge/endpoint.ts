import { defined } from '../../core/base/json.ts'
import type { Logger } from '../../core/base/logger.ts'
import type { Exchange } from '../../core/http/exchange.ts'
import type { Fetch } from '../../core/http/fetch.ts'
import type { AgentCard } from '../../core/protocol/card.ts'
import { loggedError } from '../../core/protocol/errors.ts'
import type { Principal } from '../../core/protocol/model.ts'
import type { Service } from '../../core/protocol/service.ts'
import { MeshRefusal } from '../errors.ts'
import type { MeshLink } from '../link.ts'
import { createMeshRecord, type ObservedEnvelope, type ObservedPeer } from '../observer.ts'
import type { MeshPeerOptions } from '../options.ts'
import { createObservedPeer, type MeshPeer } from '../peer.ts'
import type { MeshSocket, SocketOptions } from '../websocket.ts'
import { type MeshCardOptions, meshCardOf } from './card.ts'
import { a2aMethods, type BridgeOptions, meshPrincipal } from './methods.ts'

/** Time limit of a call to the registry, and delay before the next attempt after a failed one, in milliseconds. */
const registryTimeout = 5_000

/** Time limit for closing a WebSocket, in milliseconds. */
const closeTimeout = 500

/** The agent that the endpoint serves. */
export interface BridgedAgent {
  readonly service: Service
  readonly card: Omit<AgentCard, 'interfaces'>
  /** Throws if this caller may not be served now. */
  admit(principal: Principal): Promise<void>
}

export interface MeshRegistryOptions {
  readonly endpoint: string
  /** Pass a guarded fetch if the endpoint comes from another party. */
  readonly fetch?: Fetch
  /** Milliseconds between heartbeats. Defaults to 30,000. */
  readonly heartbeat?: number
}

/** Makes a served agent reachable in the mesh as well. */
export interface MeshEndpointOptions
  extends Omit<MeshPeerOptions, 'card' | 'directory' | 'logger'>,
    Pick<BridgeOptions, 'principalOf' | 'patience'>,
    Pick<MeshCardOptions, 'agentId'> {
  /** The path for envelopes and WebSockets. Defaults to `/mesh`. */
  readonly path?: string
  /** Applied to each WebSocket. */
  readonly socketOptions?: SocketOptions
  /** The registry at which the agent registers while it runs. */
  readonly registry?: MeshRegistryOptions
}

export interface MeshEndpoint {
  readonly peer: MeshPeer
  readonly path: string
  readonly exchange: Exchange
  accept(socket: MeshSocket): void
  /** The peers and the last envelopes, for operators. */
  state(): MeshEndpointState
  /** Removes the agent from the registry. */
  deregister(): Promise<void>
  /** Closes the remaining connections. */
  close(): void
}

export interface MeshEndpointState {
  readonly self: { readonly id: string; readonly url: string; readonly fingerprint?: string }
  readonly peers: readonly ObservedPeer[]
  /** Newest first, without payloads. */
  readonly envelopes: readonly ObservedEnvelope[]
}

export interface MeshEndpointContext {
  readonly url: string
  readonly logger: Logger
  /** Gets each envelope without its payload, and gets it again if it fails later. */
  readonly onEnvelope?: ((envelope: ObservedEnvelope) => void) | undefined
}

/** Serves an agent as a mesh peer. */
export async function openMeshEndpoint(
  agent: BridgedAgent,
  options: MeshEndpointOptions,
  { url, logger, onEnvelope }: MeshEndpointContext,
): Promise<MeshEndpoint> {
  const { path = '/mesh', agentId, principalOf, patience, socketOptions, registry, methods, ...peerOptions } = options
  const { service, card } = agent
  const toPrincipal = principalOf ?? meshPrincipal({ allowsAnonymous: allowsAnonymousCallers(card) })
  const { timeout = 30_000 } = peerOptions
  const endpoint = `${url}${path}`
  const record = createMeshRecord(onEnvelope)
  const completeOptions: MeshPeerOptions = {
    ...peerOptions,
    card: meshCardOf(card, defined({ agentId, endpoint })),
    methods: {
      ...a2aMethods({
        service,
        card,
        patience: patience ?? Math.min(20_000, timeout / 2),
        async principalOf(call) {
          const principal = await toPrincipal(call)
          await agent.admit(principal)
          return principal
        },
      }),
      ...methods,
    },
    logger,
  }
  const peer = createObservedPeer(completeOptions, { observer: record })
  const fingerprint = peerOptions.key?.fingerprint
  const sockets = new Set<MeshSocket>()
  const link = registry && peer.link({ agentId: 'registry', ...registry })
  const registration = link && (await keepRegistered({ link, heartbeat: registry?.heartbeat, logger }))
  return {
    peer,
    path,
    exchange: peer.exchange,
    accept(socket) {
      sockets.add(socket)
      socket.addEventListener('close', () => sockets.delete(socket))
      peer.accept(socket, socketOptions)
    },
    state: () => ({
      self: defined({ id: peer.agentId, url: endpoint, fingerprint }),
      peers: record.peers(),
      envelopes: record.envelopes(),
    }),
    deregister: async () => await registration?.stop(),
    close() {
      for (const socket of sockets) {
        socket.close(1001, 'The agent stops.')
        setTimeout(() => socket.terminate?.(), closeTimeout).unref?.()
      }
    },
  }
}

export interface KeepRegisteredOptions {
  /** A link to the registry. */
  readonly link: MeshLink
  /** Milliseconds between heartbeats. */
  readonly heartbeat?: number
  readonly logger: Logger
}

export interface Registration {
  /** Stops the heartbeats and sends a goodbye. */
  stop(): Promise<void>
}

function allowsAnonymousCallers({ security = [] }: BridgedAgent['card']): boolean {
  return security.length === 0 || security.some((requirement) => Object.keys(requirement).length === 0)
}

/**
 * Registers by a handshake and sends heartbeats. Registers again if the registry was unreachable or has lost the entry.
 */
async function keepRegistered({ link, heartbeat = 30_000, logger }: KeepRegisteredOptions): Promise<Registration> {
  const stopping = new AbortController()
  const callOptions = { timeout: registryTimeout, signal: stopping.signal }
  let isRegistered = false
  let isUnreachable = false
  let timer: ReturnType<typeof setTimeout> | undefined

  async function register(): Promise<void> {
    await link.handshake(callOptions)
    isRegistered = true
  }

  async function sendHeartbeat(): Promise<void> {
    try {
      if (isRegistered) await link.request('registry.heartbeat', {}, callOptions)
      else await register()
    } catch (error) {
      if (!(error instanceof MeshRefusal) || error.code !== 'NOT_REGISTERED') throw error
      await register()
    }
  }

  async function run(): Promise<void> {
    try {
      await sendHeartbeat()
      if (isUnreachable) logger.info({ registry: link.agentId }, 'the mesh registry answers again')
      isUnreachable = false
    } catch (error) {
      if (stopping.signal.aborted) return
      if (!isUnreachable) logger.warn({ error: loggedError(error) }, 'the mesh registry does not answer; retrying')
      isUnreachable = true
    }
    if (stopping.signal.aborted) return
    timer = setTimeout(() => void run(), isUnreachable ? Math.min(heartbeat, registryTimeout) : heartbeat)
    timer.unref?.()
  }

  await run()
  return {
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      if (!isRegistered) return
      await link
        .goodbye({ reason: 'The agent stops.' }, { timeout: registryTimeout })
        .catch((error) => logger.warn({ error: loggedError(error) }, 'the mesh registry did not receive the goodbye'))
    },
  }
}
