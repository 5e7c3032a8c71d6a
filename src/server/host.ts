import type { Agent } from '../agent/agent.ts'
import type { Exchange, Incoming, Outgoing } from '../http/exchange.ts'
import { toFetch } from '../http/fetch.ts'
import type { Erased, EraseRequest } from '../runtime/operations/erase.ts'
import type { GrpcExchange } from '../transports/grpc/rpc.ts'
import { requireAuthOption } from './authentication.ts'
import { createGrpcRouter, type GrpcKit } from './grpc-router.ts'
import type { HandlerOptions, HostedAgent } from './hosted-agent.ts'
import { problem } from './http-answers.ts'
import { at, createMount, type Mount } from './mount.ts'

/** An answer of so many is long enough. */
const maxChallenges = 8

export interface HostOptions {
  /** Loaded only by those who want it. */
  readonly grpc?: GrpcKit
}

/** Where an agent lives on a host that has several; with `tenant`, several share one place. */
export interface MountOptions {
  /** Below this path, such as `/agents/echo`. */
  readonly at?: string
  /** Under this name, such as `echo.example.com`. */
  readonly name?: string
}

/** Several agents behind one port. They come and go while it runs. */
export interface Host {
  readonly exchange: Exchange
  readonly fetch: (request: Request) => Promise<Response>
  /** Only if it was made with what gRPC needs. */
  readonly grpc: GrpcExchange | undefined
  /** What callers of its agents are asked for, as `WWW-Authenticate`; undefined if for nothing. */
  challenge(): string | undefined
  add(agent: Agent, options: HandlerOptions & MountOptions): HostedAgent
  /** From now on nobody finds it; its turns may finish until the deadline (milliseconds). */
  remove(resident: HostedAgent, deadline: number): Promise<void>
  /** Removes tasks of every agent, with all that belongs to them; tells what it removed. */
  erase(request: EraseRequest): Promise<Erased>
  drain(deadline: number): Promise<void>
}

export function createHost({ grpc: kit }: HostOptions = {}): Host {
  let sites: readonly Mount[] = []
  /** Where all requests go as long as there is only one agent, and it has no place of its own. */
  let only: Exchange | undefined
  const desk = kit && createGrpcRouter(kit)

  const residents = () => sites.flatMap((site) => [...site.residents])

  function siteAt(path: string, name: string | undefined): Mount {
    const known = sites.find((each) => each.path === path && each.name === name)
    if (known) return known
    const site = createMount({ path, name })
    // The most exact is found first: the longest path, and of equals the one with a name.
    const rank = (each: Mount) => each.path.length * 2 + (each.name === undefined ? 0 : 1)
    sites = [...sites, site].sort((one, other) => rank(other) - rank(one))
    return site
  }

  function settle(): void {
    sites = sites.filter(({ residents }) => residents.size > 0)
    const [first] = sites
    const isAlone = sites.length === 1 && first?.path === '' && first.name === undefined
    only = isAlone ? first.only : undefined
    desk?.settle(sites)
  }

  async function route(incoming: Incoming): Promise<Outgoing> {
    const name = incoming.header('host')?.replace(/:\d+$/, '').toLowerCase()
    const site = sites.find(
      ({ path, name: own = name }) => own === name && (path === incoming.path || incoming.path.startsWith(`${path}/`)),
    )
    if (!site) return problem(404, 'There is no agent at this address.')
    const { path } = site
    if (path === '') return await site.exchange(incoming)
    return await site.exchange(at(incoming, incoming.path.slice(path.length) || '/', `${incoming.base}${path}`))
  }

  // Not async: most hosts have one agent.
  const exchange: Exchange = (incoming) => (only ? only(incoming) : route(incoming))

  return {
    exchange,
    fetch: toFetch(exchange),
    grpc: desk?.exchange,
    challenge() {
      const asked = new Set(residents().flatMap(({ challenge = [] }) => challenge))
      return asked.size > 0 ? [...asked].slice(0, maxChallenges).join(', ') : undefined
    },
    add(agent, given) {
      requireAuthOption(`host.add(${agent.profile.name})`, given)
      const { at: place = '', name, ...options } = given
      const path = place.replace(/\/+$/, '')
      if (path !== '' && !path.startsWith('/')) throw new TypeError(`A place begins with a slash: "/${path}".`)
      const resident = siteAt(path, name?.toLowerCase()).add(agent, options)
      settle()
      return resident
    },
    async remove(resident, deadline) {
      for (const site of sites) site.remove(resident)
      settle()
      await resident.drain(deadline)
    },
    async erase(request) {
      const erased = await Promise.all(residents().map((resident) => resident.erase(request)))
      return {
        tasks: erased.flatMap(({ tasks }) => tasks),
        pushConfigs: erased.reduce((sum, { pushConfigs }) => sum + pushConfigs, 0),
      }
    },
    async drain(deadline) {
      await Promise.all(residents().map((resident) => resident.drain(deadline)))
    },
  }
}
