import type { Logger } from '../base/logger.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Fetch } from '../http/fetch.ts'
import { MeshRefusal } from '../mesh/errors.ts'
import type { MeshLink } from '../mesh/link.ts'
import type { MeshPeerOptions } from '../mesh/options.ts'
import { createMeshPeer, type MeshPeer } from '../mesh/peer.ts'
import type { MeshSocket, SocketOptions } from '../mesh/websocket.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { Principal } from '../protocol/model.ts'
import type { Service } from '../protocol/service.ts'
import { type MeshCardOptions, meshCardOf } from './card.ts'
import { a2aMethods, type BridgeOptions, meshPrincipal } from './methods.ts'

/** Milliseconds that the registry may take to answer, and after which one that did not is asked again. */
const patience = 5_000

/** How long a WebSocket may take to close, in milliseconds. */
const closingTime = 500

/** The agent behind the desk. */
export interface Bridgeable {
  readonly service: Service
  readonly card: Omit<AgentCard, 'interfaces'>
  /** Throws if this caller must not be served now. */
  admit(principal: Principal): Promise<void>
}

export interface MeshRegistryPlace {
  readonly endpoint: string
  /** A guarded one, if the endpoint was named by somebody else. */
  readonly fetch?: Fetch
  /** Milliseconds between two signs of life, 30 seconds unless they are given. */
  readonly heartbeat?: number
}

/** How an agent that is served is reached in the mesh, too. */
export interface MeshEndpointOptions
  extends Omit<MeshPeerOptions, 'card' | 'directory' | 'logger'>,
    Pick<BridgeOptions, 'principalOf' | 'patience'>,
    Pick<MeshCardOptions, 'agentId'> {
  /** Where envelopes are posted, and WebSockets opened; `/mesh` unless it is given. */
  readonly path?: string
  /** For each WebSocket. */
  readonly socketOptions?: SocketOptions
  /** Who is told of the agent when it starts, while it lives, and when it stops. */
  readonly registry?: MeshRegistryPlace
}

export interface MeshEndpoint {
  readonly peer: MeshPeer
  readonly path: string
  readonly exchange: Exchange
  accept(socket: MeshSocket): void
  /** From now on nobody finds it. */
  leave(): Promise<void>
  /** Ends the connections that are left. */
  close(): void
}

/** An agent as a peer of the mesh, at its own address. */
export async function openMeshDesk(
  behind: Bridgeable,
  options: MeshEndpointOptions,
  { url, logger }: { readonly url: string; readonly logger: Logger },
): Promise<MeshEndpoint> {
  const { path = '/mesh', agentId, principalOf, patience, socketOptions, registry, methods, ...peerOptions } = options
  const { service, card } = behind
  const identify = principalOf ?? meshPrincipal({ allowsAnonymous: isOpen(card) })
  const { timeout = 30_000 } = peerOptions
  const peer = createMeshPeer({
    ...peerOptions,
    card: meshCardOf(card, { ...(agentId !== undefined && { agentId }), endpoint: `${url}${path}` }),
    methods: {
      ...a2aMethods({
        service,
        card,
        patience: patience ?? Math.min(20_000, timeout / 2),
        async principalOf(call) {
          const principal = await identify(call)
          await behind.admit(principal)
          return principal
        },
      }),
      ...methods,
    },
    logger,
  })
  const sockets = new Set<MeshSocket>()
  const link = registry && peer.link({ agentId: 'registry', ...registry })
  const registered = link && (await keepRegistered({ link, heartbeat: registry?.heartbeat, logger }))
  return {
    peer,
    path,
    exchange: peer.exchange,
    accept(socket) {
      sockets.add(socket)
      socket.addEventListener('close', () => sockets.delete(socket))
      peer.accept(socket, socketOptions)
    },
    leave: async () => await registered?.stop(),
    close() {
      for (const socket of sockets) {
        socket.close(1001, 'The agent stops.')
        setTimeout(() => socket.terminate?.(), closingTime).unref?.()
      }
    },
  }
}

export interface KeepRegisteredOptions {
  /** To the registry. */
  readonly link: MeshLink
  /** Milliseconds between two signs of life. */
  readonly heartbeat?: number
  readonly logger: Logger
}

export interface Registered {
  /** Says goodbye. */
  stop(): Promise<void>
}

/** Whether nobody needs credentials. */
function isOpen({ security = [] }: Bridgeable['card']): boolean {
  return security.length === 0 || security.some((each) => Object.keys(each).length === 0)
}

/** Shakes hands with the registry, and gives it signs of life; a registry that is not there, or has forgotten us, is asked again. */
async function keepRegistered({ link, heartbeat = 30_000, logger }: KeepRegisteredOptions): Promise<Registered> {
  const leaving = new AbortController()
  const asking = { timeout: patience, signal: leaving.signal }
  let isRegistered = false
  let isMissed = false
  let timer: ReturnType<typeof setTimeout> | undefined

  async function register(): Promise<void> {
    await link.handshake(asking)
    isRegistered = true
  }

  async function beat(): Promise<void> {
    try {
      if (isRegistered) await link.request('registry.heartbeat', {}, asking)
      else await register()
    } catch (error) {
      if (!(error instanceof MeshRefusal) || error.code !== 'NOT_REGISTERED') throw error
      await register()
    }
  }

  async function live(): Promise<void> {
    try {
      await beat()
      if (isMissed) logger.info({ registry: link.agentId }, 'the registry of the mesh answers again')
      isMissed = false
    } catch (error) {
      if (leaving.signal.aborted) return
      if (!isMissed) logger.warn({ error }, 'the registry of the mesh does not answer; it is asked again')
      isMissed = true
    }
    if (leaving.signal.aborted) return
    timer = setTimeout(() => void live(), isMissed ? Math.min(heartbeat, patience) : heartbeat)
    timer.unref?.()
  }

  await live()
  return {
    async stop() {
      leaving.abort()
      clearTimeout(timer)
      if (!isRegistered) return
      await link
        .goodbye({ reason: 'The agent stops.' }, { timeout: patience })
        .catch((error) => logger.warn({ error }, 'the registry of the mesh did not hear the goodbye'))
    },
  }
}
