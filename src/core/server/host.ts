import type { Agent } from '../agent/agent.ts'
import { anObject, checkOptions, flag, having, type OptionChecks, text } from '../base/options.ts'
import type { Exchange, Incoming, Outgoing } from '../http/exchange.ts'
import { isBelow, toFetch } from '../http/fetch.ts'
import type { Load } from '../http/load.ts'
import type { Erased, EraseRequest } from '../runtime/operations/erase.ts'
import type { GrpcExchange } from '../transports/grpc/rpc.ts'
import { requireAuthOption } from './authentication.ts'
import { createGrpcRouter, type GrpcModule } from './grpc-router.ts'
import type { HostedAgent } from './hosted-agent.ts'
import { errorPage, healthPages } from './http-endpoint.ts'
import { createMount, type Mount, type MountOptions, withPath } from './mount.ts'
import { emptyOrPath, flattenOptions, type HandlerOptions, handlerChecks } from './options.ts'

/** Challenges of different agents in one `WWW-Authenticate` header. */
const maxChallenges = 8

export interface HostOptions {
  /** Serves gRPC as well. Passed in because its code is slow to load. */
  readonly grpc?: GrpcModule
  /** Load of the server: while it is too high, calls are rejected. `serve` passes its own. */
  readonly load?: Load | undefined
  /**
   * Whether the server listens on a loopback address. If so, agents that accept callers without credentials answer only
   * requests for this machine or for a configured name: see `http.hosts`. `serve` sets it.
   */
  readonly isOnLoopback?: boolean
  /** Pages for people. `serve` passes its console. */
  readonly pages?: HostPages | undefined
}

/** Pages for people, beside the agents of a host. */
export interface HostPages {
  /** Where the pages are, unless an agent is there. */
  readonly path: string
  /** Also gets requests of browsers that open the root, to redirect them. */
  readonly exchange: Exchange
}

const hostChecks: OptionChecks<HostOptions> = {
  grpc: anObject,
  load: anObject,
  isOnLoopback: flag,
  pages: having('pages with a path and an exchange', 'path', 'exchange'),
}

const mountChecks: OptionChecks<HandlerOptions & MountOptions> = {
  ...handlerChecks,
  mount: emptyOrPath,
  hostname: text,
}

/** An agent and the address at which the host serves it. */
export interface MountedAgent {
  readonly agent: HostedAgent
  /** Empty at the root. */
  readonly path: string
  readonly hostname: string | undefined
}

/** Several agents behind one port. Agents can be added and removed while it runs. */
export interface Host {
  readonly exchange: Exchange
  readonly fetch: (request: Request) => Promise<Response>
  /** Undefined unless the host was created with `grpc`. */
  readonly grpc: GrpcExchange | undefined
  /** The agents with their addresses, in no particular order. */
  mounted(): readonly MountedAgent[]
  /** `WWW-Authenticate` with the challenges of all agents. Undefined if no caller needs credentials. */
  challenge(): string | undefined
  add(agent: Agent, options: HandlerOptions & MountOptions): HostedAgent
  /** Stops routing requests to the agent at once. Its turns may finish until the deadline (in milliseconds). */
  remove(agent: HostedAgent, deadline: number): Promise<void>
  /** Removes tasks of every agent, with everything that belongs to them. Returns what was removed. */
  erase(request: EraseRequest): Promise<Erased>
  /** Lets turns of every agent finish until the deadline. See `Handler.drain`. */
  drain(deadline: number, endWithin?: number): Promise<void>
}

/**
 * Creates a host that serves several agents by path, hostname or tenant, wherever `fetch` is spoken.
 *
 * @example
 * const host = createHost()
 * host.add(echo, { mount: '/agents/echo', auth: 'none' })
 * export default { fetch: host.fetch }
 */
export function createHost(options: HostOptions = {}): Host {
  checkOptions('createHost', options, hostChecks)
  const { grpc, load, isOnLoopback, pages } = options
  let mounts: readonly Mount[] = []
  /** Gets every request while there is a single agent, at the root. */
  let onlyEndpoint: Exchange | undefined
  const grpcRouter = grpc && createGrpcRouter(grpc)

  const agents = () => mounts.flatMap((mount) => [...mount.agents])

  function mountAt(path: string, name: string | undefined): Mount {
    const existing = mounts.find((mount) => mount.path === path && mount.name === name)
    if (existing) return existing
    const added = createMount({ path, name })
    // The most specific mount comes first: the longest path and, for equal paths, the one with a host name.
    const rank = (mount: Mount) => mount.path.length * 2 + (mount.name === undefined ? 0 : 1)
    mounts = [...mounts, added].sort((one, other) => rank(other) - rank(one))
    return added
  }

  function refreshRoutes(): void {
    mounts = mounts.filter((mount) => mount.agents.size > 0)
    const [first] = mounts
    const isOnly = mounts.length === 1 && first?.path === '' && first.name === undefined
    onlyEndpoint = isOnly ? first.onlyEndpoint : undefined
    grpcRouter?.refreshRoutes(mounts)
  }

  async function route(incoming: Incoming): Promise<Outgoing> {
    const hostName = incoming.header('host')?.replace(/:\d+$/, '').toLowerCase()
    const candidates = mounts.filter(({ name = hostName }) => name === hostName)
    const mount = candidates.find(({ path }) => isBelow(incoming.path, path))
    if (!mount) {
      // An application that mounts the host at the path of an agent has removed that path from the request.
      const removed = candidates.find(({ path }) => incoming.base.endsWith(path))
      if (removed) return await removed.exchange(incoming)
      return await answerForHost(incoming)
    }
    const { path } = mount
    if (path === '') return await mount.exchange(incoming)
    return await mount.exchange(withPath(incoming, incoming.path.slice(path.length) || '/', `${incoming.base}${path}`))
  }

  /** A host without an agent at its root has the health checks of a server there. */
  async function answerForHost({ method, path }: Incoming): Promise<Outgoing> {
    const page = method === 'GET' || method === 'HEAD' ? healthPages[path] : undefined
    if (page) return await page(agents())
    return { ...errorPage(404, 'There is no agent at this address.'), isUnrouted: true }
  }

  function isForPages(incoming: Incoming, { path }: HostPages): boolean {
    if (incoming.path === '/') return isPageRequest(incoming)
    return isBelow(incoming.path, path) && !mounts.some((mount) => isBelow(mount.path, path))
  }

  // Not async: most hosts have one agent.
  const exchange: Exchange = (incoming) => {
    if (pages && isForPages(incoming, pages)) return pages.exchange(incoming)
    return onlyEndpoint ? onlyEndpoint(incoming) : route(incoming)
  }

  return {
    exchange,
    fetch: toFetch(exchange),
    grpc: grpcRouter?.exchange,
    mounted: () =>
      mounts.flatMap(({ agents, path, name: hostname }) => [...agents].map((agent) => ({ agent, path, hostname }))),
    challenge() {
      const challenges = new Set(agents().flatMap(({ challenge = [] }) => challenge))
      return challenges.size > 0 ? [...challenges].slice(0, maxChallenges).join(', ') : undefined
    },
    add(agent, options) {
      const caller = `host.add(${agent.profile.name})`
      requireAuthOption(caller, options)
      checkOptions<HandlerOptions & MountOptions>(caller, options, mountChecks)
      const { mount = '', hostname, ...agentOptions } = options
      const settings = { ...flattenOptions(agentOptions), load, hostname, isOnLoopback }
      const hosted = mountAt(mount.replace(/\/+$/, ''), hostname?.toLowerCase()).add(agent, settings)
      refreshRoutes()
      return hosted
    },
    async remove(agent, deadline) {
      for (const mount of mounts) mount.remove(agent)
      refreshRoutes()
      await agent.drain(deadline)
    },
    async erase(request) {
      const erased = await Promise.all(agents().map((agent) => agent.erase(request)))
      return {
        tasks: erased.flatMap(({ tasks }) => tasks),
        pushConfigs: erased.reduce((sum, { pushConfigs }) => sum + pushConfigs, 0),
      }
    },
    async drain(deadline, endWithin) {
      await Promise.all(agents().map((agent) => agent.drain(deadline, endWithin)))
    },
  }
}

/** Whether a browser opens the address. */
function isPageRequest({ method, header }: Incoming): boolean {
  return (method === 'GET' || method === 'HEAD') && (header('accept')?.includes('text/html') ?? false)
}
