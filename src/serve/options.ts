import { type Agent, requireAgent } from '../core/agent/agent.ts'
import { isObject } from '../core/base/json.ts'
import {
  aFunction,
  anObject,
  anyOf,
  checkOptions,
  flag,
  group,
  integer,
  isAbove,
  listOf,
  milliseconds,
  type OptionChecks,
  oneOf,
  path,
  text,
} from '../core/base/options.ts'
import type { PushFetchOptions } from '../core/node/guarded-fetch/push-fetch.ts'
import type { ListenOptions } from '../core/node/listen.ts'
import type { OverloadOptions } from '../core/node/server-load.ts'
import type { SocketServer } from '../core/node/websocket-upgrade.ts'
import type { PushAdmin } from '../core/push/admin.ts'
import { type PushFetch, type PushOptions, pushChecks } from '../core/push/options.ts'
import type { Erased, EraseRequest } from '../core/runtime/operations/erase.ts'
import type { AuthChoice } from '../core/server/authentication.ts'
import type { HostedAgent } from '../core/server/hosted-agent.ts'
import type { MountOptions } from '../core/server/mount.ts'
import { type HandlerOptions, type HttpOptions, handlerChecks, httpChecks } from '../core/server/options.ts'
import type { MeshEndpointOptions, MeshRegistryOptions } from '../mesh/bridge/endpoint.ts'
import { meshPeerChecks } from '../mesh/options.ts'
import type { MeshPeer } from '../mesh/peer.ts'
import type { MeshSocket } from '../mesh/websocket.ts'
import { type ConsoleOptions, checkConsole } from '../operator/options.ts'

export interface ServePushOptions extends Omit<PushOptions, 'fetch'>, Omit<PushFetchOptions, 'timeout' | 'logger'> {
  readonly fetch?: PushFetch
}

/** The `mesh` option of `serve`. */
export interface ServeMeshOptions extends MeshEndpointOptions {
  /** Accepts WebSockets, such as `new WebSocketServer({ noServer: true, maxPayload: 10 * 2 ** 20 })` from the package `ws`. */
  readonly sockets?: SocketServer<MeshSocket>
}

/** Options of `serve`, by subject. Nothing is required: `serve(agent)` listens on a free port of this machine. */
export interface ServeOptions extends Omit<HandlerOptions, 'auth' | 'push' | 'http'> {
  /** The port. Defaults to 0: any free port. */
  readonly port?: number
  /** The address to listen on. Defaults to 127.0.0.1; another one, such as `0.0.0.0`, requires `auth`. */
  readonly host?: string
  /** Key and certificate of the server, and all other TLS options of Node. */
  readonly tls?: ListenOptions['tls']
  /** Which callers are accepted. Without it, the server listens on loopback only and accepts every caller. */
  readonly auth?: AuthChoice
  /** Limits of HTTP requests, connections and streams. */
  readonly http?: ServerHttpOptions
  /** Sends task events to webhooks: by the `fetch` passed here, or by a guarded one with these options. */
  readonly push?: ServePushOptions
  /** The folder of the durable task logs. Defaults to `.parley`. Ignored for agents with their own `log`. */
  readonly directory?: string
  /**
   * How long closing the server may take, in milliseconds, but at least 3,000. Running turns have 70 % of it. After a
   * signal, the process has ended by then. Defaults to 10,000.
   */
  readonly drainDeadline?: number
  /**
   * How long a task log in another process, such as PostgreSQL, may be unreachable before this process ends with exit
   * code 1, in milliseconds. With `signals: false`, the process stays and only logs it. Defaults to 60,000.
   */
  readonly patience?: number
  /** Whether SIGTERM and SIGINT close the server and end the process; a second one does so at once. Defaults to true. */
  readonly signals?: boolean
  /** Also makes the agent a mesh peer, on the same port. */
  readonly mesh?: ServeMeshOptions
  /**
   * The console at `/console/`, a web application for operators. Defaults to on, with the key in the file `operator-key` of
   * `directory`, if only this machine can call the server; otherwise to off. `false` switches it off.
   */
  readonly console?: ConsoleOptions | false
}

export interface ServerHttpOptions extends HttpOptions, Pick<ListenOptions, 'unreadTimeout'> {
  /** Milliseconds within which a request must have arrived completely. Defaults to 30,000. */
  readonly requestTimeout?: number
  /** Milliseconds for which an idle connection stays open. Set it above the timeout of a proxy. Defaults to 65,000. */
  readonly keepAliveTimeout?: number
  /** Limits beyond which calls get 503. Defaults depend on the memory available to V8. `false` disables them. */
  readonly overload?: OverloadOptions | false
}

/** Options of one agent that is added to a server. They override the server's options. */
export interface AddOptions extends Omit<HandlerOptions, 'auth'>, MountOptions {
  /** Decides which callers are admitted. Defaults to the server's `auth`. */
  readonly auth?: AuthChoice
}

/** A running server, as `serve` returns it. */
export interface Server {
  readonly url: string
  readonly cardUrl: string
  /**
   * The address of the console: a link that logs in once, unless `console.auth` says who may log in. Undefined if the
   * console is off.
   */
  readonly consoleUrl: string | undefined
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
  /**
   * Rejects new work and still answers reads, lets turns finish, ends streams so that callers can resume them, and stops
   * listening. Rejects if that takes longer than `drainDeadline`.
   */
  close(): Promise<void>
}

/** Agents by the path under which each is served. */
export type Agents = Readonly<Record<string, Agent>>

/** Throws for an unknown or wrong option. */
export function checkServeOptions(options: ServeOptions): void {
  checkOptions('serve', options, serveChecks)
  if (options.grpc && process.versions.bun !== undefined) {
    throw new Error(
      'serve(): grpc: Bun cannot serve gRPC on the port of its HTTP server. Serve with Node or Deno, or leave the option out: JSON-RPC and REST work, and clients on Bun can call over gRPC.',
    )
  }
}

export function isAgent(served: Agent | Agents): served is Agent {
  return typeof served?.run === 'function'
}

/** Throws unless there is an agent at each path, and the options suit their number. */
export function checkAgents(agents: Agents, { log, mesh }: ServeOptions): void {
  if (!isObject(agents)) requireAgent(agents, 'serve(): agent')
  const entries = Object.entries(agents)
  const { length } = entries
  if (length === 0) throw new TypeError('serve(): expected an agent, or several by their paths, got none.')
  for (const [path, agent] of entries) requireAgent(agent, `serve(): the agent at the path "${path}"`)
  // Agents must not see each other's tasks.
  if (length > 1 && log) {
    throw new TypeError('serve(): several agents need a log each: hand it to server.add(agent, { log })')
  }
  if (length > 1 && mesh) throw new TypeError('serve(): only one agent can be a peer of the mesh.')
}

const { logger: _logger, ...meshChecks } = meshPeerChecks

export const serveChecks: OptionChecks<ServeOptions> = {
  ...handlerChecks,
  port: integer({ min: 0, max: 65_535 }),
  host: text,
  tls: (value, name) => {
    anObject(value, name)
    const { key, cert, pfx, SNICallback } = value as NonNullable<ListenOptions['tls']>
    if ((key && cert) || pfx || SNICallback) return
    throw new TypeError(`${name}: expected key and cert, or pfx, as in Node's TLS options`)
  },
  http: group<ServerHttpOptions>({
    ...httpChecks,
    requestTimeout: milliseconds({ min: 1 }),
    keepAliveTimeout: milliseconds({ min: 1 }),
    unreadTimeout: milliseconds({ min: 1 }),
    overload: anyOf(
      'false, or an object with heap, requests, bodyBytes, responseBytes, connections',
      oneOf(false),
      group<OverloadOptions>({
        heap: isAbove(0),
        requests: isAbove(0),
        bodyBytes: isAbove(0),
        responseBytes: isAbove(0),
        connections: isAbove(0),
      }),
    ),
  }),
  push: group<ServePushOptions>({
    ...pushChecks,
    schemes: listOf(oneOf('http', 'https')),
    allow: listOf(text),
    loopback: oneOf('allow', 'refuse'),
    redirects: integer(),
    tls: anObject,
    resolve: aFunction,
  }),
  directory: text,
  drainDeadline: milliseconds(),
  patience: milliseconds(),
  signals: flag,
  mesh: group<ServeMeshOptions>({
    ...meshChecks,
    principalOf: aFunction,
    patience: milliseconds({ min: 1 }),
    agentId: text,
    path,
    socketOptions: anObject,
    sockets: anObject,
    registry: group<MeshRegistryOptions>({ endpoint: text, fetch: aFunction, heartbeat: milliseconds({ min: 1 }) }),
  }),
  console: checkConsole,
}
