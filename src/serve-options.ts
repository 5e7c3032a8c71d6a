import type { Agent } from './agent/agent.ts'
import type { MeshPeer } from './mesh/peer.ts'
import type { MeshSocket } from './mesh/websocket.ts'
import type { MeshEndpointOptions } from './mesh-bridge/endpoint.ts'
import type { PushFetchOptions } from './node/guarded-fetch/push-fetch.ts'
import type { ListenOptions } from './node/listen.ts'
import type { OverloadOptions } from './node/server-load.ts'
import type { SocketServer } from './node/websocket-upgrade.ts'
import type { PushAdmin } from './push/admin.ts'
import type { PushFetch, PushOptions } from './push/options.ts'
import type { Erased, EraseRequest } from './runtime/operations/erase.ts'
import type { AuthChoice } from './server/authentication.ts'
import type { MountOptions } from './server/host.ts'
import type { HandlerOptions, HostedAgent } from './server/hosted-agent.ts'

export interface ServePushOptions extends Omit<PushOptions, 'fetch'>, Omit<PushFetchOptions, 'timeout' | 'logger'> {
  readonly fetch?: PushFetch
}

export interface ServeMeshOptions extends MeshEndpointOptions {
  /** Accepts WebSockets, such as `new WebSocketServer({ noServer: true, maxPayload: 10 * 2 ** 20 })` from the package `ws`. */
  readonly sockets?: SocketServer<MeshSocket>
}

export interface ServeOptions
  extends Omit<HandlerOptions, 'auth' | 'push' | 'load'>,
    Partial<Omit<ListenOptions, 'grpc' | 'asksCertificate' | 'challenge' | 'load' | 'maxConnections' | 'upgrade'>> {
  /** Decides which callers are admitted. Without it, the server listens on loopback only and admits every caller. */
  readonly auth?: AuthChoice
  /** Sends task events to webhooks: by the `fetch` passed here, or by a guarded one with these options. */
  readonly push?: ServePushOptions
  /** The folder of the durable task logs. Defaults to `.parley`. Ignored for agents with their own `log`. */
  readonly directory?: string
  /** How long running turns may take to finish when the server closes, in milliseconds. Defaults to 10,000. */
  readonly drainDeadline?: number
  /** Limits beyond which calls get 503. Defaults depend on the memory available to V8. `false` disables them. */
  readonly overload?: OverloadOptions | false
  /** Whether SIGTERM and SIGINT close the server. Defaults to true. */
  readonly signals?: boolean
  /** Also makes the agent a mesh peer, on the same port. */
  readonly mesh?: ServeMeshOptions
}

/** Options of one agent that is added to a server. They override the server's options. */
export interface AddOptions extends Omit<HandlerOptions, 'auth'>, MountOptions {
  /** Decides which callers are admitted. Defaults to the server's `auth`. */
  readonly auth?: AuthChoice
}

export interface Server {
  readonly url: string
  readonly cardUrl: string
  readonly port: number
  /** Manages the webhooks of the first agent, if push is enabled. */
  readonly push: PushAdmin | undefined
  /** The agent's mesh peer, if `mesh` is set. Use it to call other peers. */
  readonly mesh: MeshPeer | undefined
  /** Serves one more agent at its own mount, with the server's options unless `options` overrides them. */
  add(agent: Agent, options?: AddOptions): HostedAgent
  /** Stops serving an agent. Its running turns may finish within `drainDeadline`. */
  remove(agent: HostedAgent): Promise<void>
  /** Deletes tasks of every agent with everything stored about them, at once and for good. Returns what it deleted. */
  erase(request: EraseRequest): Promise<Erased>
  /** Accepts no new work, lets turns finish, ends streams so that callers can resume them, and stops listening. */
  close(): Promise<void>
}

/** Agents by the path under which each is served. */
export type Agents = Readonly<Record<string, Agent>>
