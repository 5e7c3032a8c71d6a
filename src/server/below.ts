import type { Exchange, Incoming } from '../http/exchange.ts'

/** Paths below the name of a tenant, or below the place of an agent. */

/** Also takes what comes below the tenant's name, which older dialects have no other word for. */
export function belowTenant(tenant: string, face: Exchange): Exchange {
  return (incoming) => face(firstSegment(incoming.path) === tenant ? at(incoming, restOf(incoming.path)) : incoming)
}

export function firstSegment(path: string): string {
  const [, segment = ''] = path.split('/')
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}

export function restOf(path: string): string {
  const slash = path.indexOf('/', 1)
  return slash === -1 ? '/' : path.slice(slash)
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
