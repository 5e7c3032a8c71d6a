import type { Agent } from '../agent/agent.ts'
import { type Exchange, type Incoming, type Outgoing, reserveResponse } from '../http/exchange.ts'
import { isBelow } from '../http/fetch.ts'
import type { BodyLimits } from '../transports/server/call.ts'
import { withWireDefaults } from '../transports/server/options.ts'
import { createHostedAgent, type HostedAgent } from './hosted-agent.ts'
import { createHttpEndpoint } from './http-endpoint.ts'
import type { HostedAgentOptions } from './options.ts'
import { readTenant, requireTenantName, unknownTenantService } from './tenants.ts'

/** The address of an agent on a host that has several. Agents that differ in `tenant` may share one address. */
export interface MountOptions {
  /** Path below which the agent is served, such as `/agents/echo`. */
  readonly mount?: string
  /** Host name for which the agent is served, such as `echo.example.com`. */
  readonly hostname?: string
}

/** One address: a path, perhaps below a host name. Several agents may share it, each with its own tenant. */
export interface Mount {
  readonly path: string
  readonly name: string | undefined
  readonly exchange: Exchange
  readonly agents: ReadonlySet<HostedAgent>
  /** The endpoint of the only agent, if it has no tenant: every request is for it. */
  readonly onlyEndpoint: Exchange | undefined
  add(agent: Agent, options: HostedAgentOptions): HostedAgent
  remove(agent: HostedAgent): void
}

export function createMount(address: Pick<Mount, 'path' | 'name'>): Mount {
  const mounted = new Map<string | undefined, MountedAgent>()

  async function exchange(incoming: Incoming): Promise<Outgoing> {
    const byPath = mounted.get(firstSegment(incoming.path))
    // Below its name a tenant has all paths, so that clients whose dialect has no tenants reach it as well.
    if (byPath) return await byPath.endpoint(withPath(incoming, restOf(incoming.path)))
    const { tenant, incoming: buffered } = await readTenant(incoming, widestLimits([...mounted.values()]))
    const byTenant = mounted.get(tenant) ?? mounted.get(undefined)
    if (byTenant) return await byTenant.endpoint(buffered)
    const [first] = mounted.values()
    if (!first) throw new Error('A mount without agents got a request.')
    const { agent } = first
    return await createHttpEndpoint({ ...agent, service: unknownTenantService }, agent.options)(buffered)
  }

  return {
    ...address,
    exchange,
    get agents() {
      return new Set(Array.from(mounted.values(), ({ agent }) => agent))
    },
    get onlyEndpoint() {
      return mounted.size === 1 ? mounted.get(undefined)?.endpoint : undefined
    },
    add(agent, options) {
      const { tenant } = options
      if (tenant !== undefined) requireTenantName(tenant)
      const { name = '', path } = address
      if (mounted.has(tenant)) {
        throw new Error(`There is an agent at ${name}${path}/${tenant ?? ''} already: remove it first.`)
      }
      const hosted = createHostedAgent(agent, { ...options, grpcTenant: grpcTenantAt(path, tenant) })
      const endpoint = createHttpEndpoint(hosted, hosted.options)
      mounted.set(tenant, { agent: hosted, endpoint })
      return hosted
    },
    remove(agent) {
      const { tenant } = agent.options
      if (mounted.get(tenant)?.agent === agent) mounted.delete(tenant)
    },
  }
}

/** Also serves the paths below the tenant's name, for clients whose dialect has no tenants. */
export function belowTenant(tenant: string, endpoint: Exchange): Exchange {
  return (incoming) =>
    endpoint(firstSegment(incoming.path) === tenant ? withPath(incoming, restOf(incoming.path)) : incoming)
}

/**
 * Serves an endpoint below a path, even if a framework or a proxy in front has removed the path, or a part of it, from the
 * requests.
 */
export function belowPath(mount: string, endpoint: Exchange): Exchange {
  return (incoming) => {
    const { base, path } = incoming
    if (base.endsWith(mount)) return endpoint(incoming)
    if (isBelow(path, mount)) return endpoint(withPath(incoming, path.slice(mount.length) || '/', `${base}${mount}`))
    // A framework names only what it has removed itself.
    return endpoint(withPath(incoming, path, mount.endsWith(base) ? mount : `${base}${mount}`))
  }
}

/** The same request at another path. */
export function withPath(incoming: Incoming, path: string, base = incoming.base): Incoming {
  return {
    method: incoming.method,
    path,
    query: incoming.query,
    base,
    secure: incoming.secure,
    header: incoming.header,
    bytes: (limit) => incoming.bytes(limit),
    certificate: () => incoming.certificate(),
    address: () => incoming.address?.(),
    reserve: (response, caller) => reserveResponse(incoming, response, caller),
    get signal() {
      return incoming.signal
    },
  }
}

interface MountedAgent {
  readonly agent: HostedAgent
  readonly endpoint: Exchange
}

function firstSegment(path: string): string {
  const [, segment = ''] = path.split('/')
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}

function restOf(path: string): string {
  const slash = path.indexOf('/', 1)
  return slash === -1 ? '/' : path.slice(slash)
}

/** The body has to be read to find its agent; that agent's own limits apply afterwards. */
function widestLimits(mounted: readonly MountedAgent[]): BodyLimits {
  const limits = mounted.map(({ agent }) => withWireDefaults(agent.options))
  return {
    bodyLimit: Math.max(...limits.map(({ bodyLimit }) => bodyLimit)),
    jsonDepth: Math.max(...limits.map(({ jsonDepth }) => jsonDepth)),
  }
}

/** gRPC has no paths: its callers name the path and the tenant of the agent as one tenant. */
function grpcTenantAt(path: string, tenant: string | undefined): string | undefined {
  const names = [...path.split('/'), tenant].filter((name) => name)
  return names.length === 0 ? undefined : names.join('/')
}
