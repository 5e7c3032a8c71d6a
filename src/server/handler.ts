import type { Agent } from '../agent/agent.ts'
import type { Exchange } from '../http/exchange.ts'
import { toFetch } from '../http/fetch.ts'
import type { Service } from '../protocol/service.ts'
import type { PushAdmin } from '../push/admin.ts'
import type { Erased, EraseRequest } from '../runtime/operations/erase.ts'
import { requireAuthOption } from './authentication.ts'
import { createHostedAgent, type HandlerOptions } from './hosted-agent.ts'
import { createHttpEndpoint } from './http-endpoint.ts'
import { belowTenant } from './mount.ts'
import { tenantService } from './tenants.ts'

/** An agent behind HTTP, without a socket: mount it wherever `fetch` is spoken. */
export interface Handler {
  readonly fetch: (request: Request) => Promise<Response>
  /** The same, for rims that need no `Request` and `Response`. */
  readonly exchange: Exchange
  readonly service: Service
  /** What is pushed, if anything is. */
  readonly push: PushAdmin | undefined
  /** Removes tasks with all that belongs to them, at once and for good; tells what it removed. */
  erase(request: EraseRequest): Promise<Erased>
  /** Takes no new work, lets turns finish until the deadline (milliseconds), then ends turns and streams. */
  drain(deadline: number): Promise<void>
}

export function createHandler(agent: Agent, options: HandlerOptions): Handler {
  requireAuthOption(`createHandler(${agent.profile.name})`, options)
  const resident = createHostedAgent(agent, options)
  const service = tenantService((tenant) =>
    tenant === undefined || tenant === options.tenant ? resident.service : undefined,
  )
  const face = createHttpEndpoint({ ...resident, service }, options)
  const { tenant } = options
  const exchange = tenant === undefined ? face : belowTenant(tenant, face)
  const { push, erase, drain } = resident
  return { exchange, fetch: toFetch(exchange), service, push, erase, drain }
}

export type { HandlerOptions }
