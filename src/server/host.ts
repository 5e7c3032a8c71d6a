import type { Agent } from '../agent/agent.ts'
import type { Exchange, Incoming } from '../http/exchange.ts'
import { toFetch } from '../http/fetch.ts'
import { problem } from './answers.ts'
import type { HandlerOptions, Resident } from './resident.ts'
import { at, createSite, type Site } from './site.ts'

/** Where an agent lives on a host that has several; with `tenant`, several share one place. */
export interface Place {
  /** Below this path, such as `/agents/echo`. */
  readonly at?: string
  /** Under this name, such as `echo.example.com`. */
  readonly name?: string
}

/** Several agents behind one port. They come and go while it runs. */
export interface Host {
  readonly exchange: Exchange
  readonly fetch: (request: Request) => Promise<Response>
  add(agent: Agent, options?: HandlerOptions & Place): Resident
  /** From now on nobody finds it; its turns may finish until the deadline (milliseconds). */
  remove(resident: Resident, deadline: number): Promise<void>
  drain(deadline: number): Promise<void>
}

export function createHost(): Host {
  let sites: readonly Site[] = []

  function siteAt(path: string, name: string | undefined): Site {
    const known = sites.find((each) => each.path === path && each.name === name)
    if (known) return known
    const site = createSite({ path, name })
    // The most exact is found first: the longest path, and of equals the one with a name.
    const rank = (each: Site) => each.path.length * 2 + (each.name === undefined ? 0 : 1)
    sites = [...sites, site].sort((one, other) => rank(other) - rank(one))
    return site
  }

  async function exchange(incoming: Incoming) {
    const name = incoming.header('host')?.replace(/:\d+$/, '').toLowerCase()
    const site = sites.find(
      ({ path, name: own = name, residents }) =>
        residents.size > 0 && own === name && (path === incoming.path || incoming.path.startsWith(`${path}/`)),
    )
    if (!site) return problem(404, 'There is no agent at this address.')
    const { path } = site
    if (path === '') return await site.exchange(incoming)
    return await site.exchange(at(incoming, incoming.path.slice(path.length) || '/', `${incoming.base}${path}`))
  }

  return {
    exchange,
    fetch: toFetch(exchange),
    add(agent, { at: place = '', name, ...options } = {}) {
      const path = place.replace(/\/+$/, '')
      if (path !== '' && !path.startsWith('/')) throw new TypeError(`A place begins with a slash: "/${path}".`)
      return siteAt(path, name?.toLowerCase()).add(agent, options)
    },
    async remove(resident, deadline) {
      for (const site of sites) site.remove(resident)
      sites = sites.filter(({ residents }) => residents.size > 0)
      await resident.drain(deadline)
    },
    async drain(deadline) {
      const residents = sites.flatMap((site) => [...site.residents])
      await Promise.all(residents.map((resident) => resident.drain(deadline)))
    },
  }
}
