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
import type { HandlerOptions } from './server/handler.ts'
import type { MountOptions } from './server/host.ts'
import type { HostedAgent } from './server/hosted-agent.ts'

export interface ServePushOptions extends Omit<PushOptions, 'fetch'>, Omit<PushFetchOptions, 'timeout' | 'logger'> {
  readonly fetch?: PushFetch
}

export interface ServeMeshOptions extends MeshEndpointOptions {
  /** Takes WebSockets, such as `new WebSocketServer({ noServer: true, maxPayload: 10 * 2 ** 20 })` of the package `ws`. */
  readonly sockets?: SocketServer<MeshSocket>
}

export interface ServeOptions
  extends Omit<HandlerOptions, 'auth' | 'push' | 'load'>,
    Partial<Omit<ListenOptions, 'grpc' | 'asksCertificate' | 'challenge' | 'load' | 'maxConnections' | 'upgrade'>> {
  /** Who may call. Without it, whoever is on this machine, and the server listens nowhere else. */
  readonly auth?: AuthChoice
  /** Tells webhooks what happens to tasks: by a `fetch` that is handed in, or by a guarded one with these options. */
  readonly push?: ServePushOptions
  /** The folder of the durable task logs. Not used where a `log` is handed in. */
  readonly directory?: string
  /** On SIGTERM and SIGINT: how long running turns may take to finish, in milliseconds. */
  readonly drainDeadline?: number
  /** From where on calls are refused because there is too much to do: by default of what V8 may use. `false`: never. */
  readonly overload?: OverloadOptions | false
  /** Whether SIGTERM and SIGINT close the server. */
  readonly signals?: boolean
  /** Makes the agent a peer of the mesh, too, at the same port. */
  readonly mesh?: ServeMeshOptions
}

/** What another agent of a server has of its own. */
export interface AddOptions extends Omit<HandlerOptions, 'auth'>, MountOptions {
  /** Who may call: the same as those who may call the server, unless it is given. */
  readonly auth?: AuthChoice
}

export interface Server {
  readonly url: string
  readonly cardUrl: string
  readonly port: number
  /** What the first agent pushes, if anything. */
  readonly push: PushAdmin | undefined
  /** The peer that the agent is in the mesh, if it is one: by it the others can be talked to. */
  readonly mesh: MeshPeer | undefined
  /** Serves one more agent, at a place of its own, with the options of the server unless it has others. */
  add(agent: Agent, options?: AddOptions): HostedAgent
  /** From now on nobody finds it; its turns may finish. */
  remove(resident: HostedAgent): Promise<void>
  /** Removes tasks of every agent, with all that belongs to them, at once and for good; tells what it removed. */
  erase(request: EraseRequest): Promise<Erased>
  /** Takes no new work, lets turns finish, ends streams so that they can be resumed, and stops. */
  close(): Promise<void>
}

/** Agents by the paths below which they are served. */
export type Agents = Readonly<Record<string, Agent>>
