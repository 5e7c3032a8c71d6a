import type { Agent } from '../agent/agent.ts'
import type { Exchange, Incoming } from '../http/exchange.ts'
import { cardPaths } from './card-page.ts'
import { createFace } from './face.ts'
import { createResident, type HandlerOptions, type Resident } from './resident.ts'
import { tenantService } from './tenants.ts'

/** One address. Several agents may share it, told apart by their tenants. */
export interface Site {
  readonly path: string
  readonly name: string | undefined
  readonly exchange: Exchange
  readonly residents: ReadonlySet<Resident>
  add(agent: Agent, options: HandlerOptions): Resident
  remove(resident: Resident): void
}

export function createSite(address: Pick<Site, 'path' | 'name'>): Site {
  const residents = new Map<string | undefined, { readonly resident: Resident; readonly face: Exchange }>()
  const service = tenantService((tenant) => residents.get(tenant)?.resident.service)
  const all = new Set<Resident>()

  return {
    ...address,
    residents: all,
    add(agent, options) {
      const { tenant } = options
      const place = `${address.name ?? ''}${address.path}/${tenant ?? ''}`
      if (residents.has(tenant)) throw new Error(`There is an agent at ${place} already: remove it first.`)
      const resident = createResident(agent, options)
      const recall: Resident['recall'] = async (asked, principal) =>
        await residents.get(asked.tenant)?.resident.recall(asked, principal)
      // Whichever face a call comes to, its tenant tells whom it is for.
      residents.set(tenant, { resident, face: createFace({ ...resident, service, recall }, options) })
      all.add(resident)
      return resident
    },
    remove(resident) {
      if (all.delete(resident)) residents.delete(resident.options.tenant)
    },
    exchange(incoming) {
      const asked = cardOfTenant(incoming)
      const own = asked && residents.get(asked.tenant)
      if (own) return own.face(asked.incoming)
      const [first] = residents.values()
      const main = residents.get(undefined) ?? first
      if (!main) throw new Error('A site without residents was asked.')
      return main.face(incoming)
    },
  }
}

/** A tenant has its card below its name; everything else of it is told apart by the tenant that a call names. */
function cardOfTenant(incoming: Incoming): { readonly tenant: string; readonly incoming: Incoming } | undefined {
  const path = cardPaths.find((each) => incoming.path.endsWith(each))
  const tenant = path && incoming.path.slice(1, -path.length)
  return tenant ? { tenant, incoming: at(incoming, path) } : undefined
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
    get signal() {
      return incoming.signal
    },
  }
}
