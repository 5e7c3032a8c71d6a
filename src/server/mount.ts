import type { Agent } from '../agent/agent.ts'
import type { Exchange, Incoming, Outgoing } from '../http/exchange.ts'
import { limitsOf } from '../transports/server/options.ts'
import { createHostedAgent, type HandlerOptions, type HostedAgent } from './hosted-agent.ts'
import { createHttpEndpoint } from './http-endpoint.ts'
import { type LookLimits, readTenant, requireTenant, tenantService } from './tenants.ts'

/** Paths below the name of a tenant, or below the place of an agent. */

/** Also takes what comes below the tenant's name, which older dialects have no other word for. */
export function belowTenant(tenant: string, face: Exchange): Exchange {
  return (incoming) => face(firstSegment(incoming.path) === tenant ? at(incoming, restOf(incoming.path)) : incoming)
}

/** One address. Several agents may share it, told apart by their tenants. */
export interface Mount {
  readonly path: string
  readonly name: string | undefined
  readonly exchange: Exchange
  readonly residents: ReadonlySet<HostedAgent>
  /** The only agent there is, if it need not be told apart from others. */
  readonly only: Exchange | undefined
  add(agent: Agent, options: HandlerOptions): HostedAgent
  remove(resident: HostedAgent): void
}

export function createMount(address: Pick<Mount, 'path' | 'name'>): Mount {
  const lodgings = new Map<string | undefined, MountedAgent>()

  /** For those who name no tenant where there are only tenants. */
  function lobby({ resident }: MountedAgent): Exchange {
    return createHttpEndpoint({ ...resident, service: tenantService(() => undefined) }, resident.options)
  }

  async function exchange(incoming: Incoming): Promise<Outgoing> {
    const mounted = lodgings.get(firstSegment(incoming.path))
    // Below its name a tenant is alone, also for those whose dialect has no word for tenants.
    if (mounted) return await mounted.face(at(incoming, restOf(incoming.path)))
    const { tenant, incoming: read } = await readTenant(incoming, widest([...lodgings.values()]))
    const [first] = lodgings.values()
    const meant = lodgings.get(tenant) ?? lodgings.get(undefined)
    if (meant) return await meant.face(read)
    if (!first) throw new Error('A site without residents was asked.')
    return await lobby(first)(read)
  }

  return {
    ...address,
    get residents() {
      return new Set(Array.from(lodgings.values(), ({ resident }) => resident))
    },
    get only() {
      return lodgings.size === 1 ? lodgings.get(undefined)?.face : undefined
    },
    add(agent, options) {
      const { tenant } = options
      if (tenant !== undefined) requireTenant(tenant)
      const place = `${address.name ?? ''}${address.path}/${tenant ?? ''}`
      if (lodgings.has(tenant)) throw new Error(`There is an agent at ${place} already: remove it first.`)
      const resident = createHostedAgent(agent, { ...options, dialledAs: dialledAs(address.path, tenant) })
      const service = tenantService((asked) => (asked === undefined || asked === tenant ? resident.service : undefined))
      lodgings.set(tenant, { resident, face: createHttpEndpoint({ ...resident, service }, resident.options) })
      return resident
    },
    remove(resident) {
      const { tenant } = resident.options
      if (lodgings.get(tenant)?.resident === resident) lodgings.delete(tenant)
    },
    exchange,
  }
}

/** The same request at another path. */
export function at(incoming: Incoming, path: string, base = incoming.base): Incoming {
  return {
    method: incoming.method,
    path,
    query: incoming.query,
    base,
    secure: incoming.secure,
    header: incoming.header,
    bytes: incoming.bytes,
    certificate: () => incoming.certificate(),
    get signal() {
      return incoming.signal
    },
  }
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

interface MountedAgent {
  readonly resident: HostedAgent
  readonly face: Exchange
}

/** Whoever it is for, it must be read to know; then each has limits of its own. */
function widest(lodgings: readonly MountedAgent[]): LookLimits {
  const limits = lodgings.map(({ resident }) => limitsOf(resident.options))
  return {
    bodyLimit: Math.max(...limits.map(({ bodyLimit }) => bodyLimit)),
    jsonDepth: Math.max(...limits.map(({ jsonDepth }) => jsonDepth)),
  }
}

/** What callers of gRPC, which has no paths, name instead. */
function dialledAs(path: string, tenant: string | undefined): string | undefined {
  const names = [...path.split('/'), tenant].filter((name) => name)
  return names.length === 0 ? undefined : names.join('/')
}
