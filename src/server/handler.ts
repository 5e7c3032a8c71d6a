import type { Agent } from '../agent/agent.ts'
import { consoleLogger } from '../base/logger.ts'
import type { Exchange } from '../http/exchange.ts'
import { toFetch } from '../http/fetch.ts'
import type { Service } from '../protocol/service.ts'
import type { PushAdmin } from '../push/admin.ts'
import type { Erased, EraseRequest } from '../runtime/operations/erase.ts'
import { requireAuthOption } from './authentication.ts'
import { createHostedAgent } from './hosted-agent.ts'
import { createHttpEndpoint } from './http-endpoint.ts'
import { belowTenant } from './mount.ts'
import { type HandlerOptions, readHandlerOptions } from './options.ts'
import { logRequests } from './request-log.ts'

/** An agent behind HTTP, without a socket. Mount it in any framework that speaks `fetch`. */
export interface Handler {
  readonly fetch: (request: Request) => Promise<Response>
  /** The same without `Request` and `Response`, for servers that do not need them. */
  readonly exchange: Exchange
  readonly service: Service
  /** State of webhook deliveries. Undefined if push is not enabled. */
  readonly push: PushAdmin | undefined
  /** Removes tasks with everything that belongs to them, at once and for good. Returns what was removed. */
  erase(request: EraseRequest): Promise<Erased>
  /** Takes no new work, lets turns finish until the deadline (in milliseconds), then ends turns and streams. */
  drain(deadline: number): Promise<void>
}

export function createHandler(agent: Agent, options: HandlerOptions): Handler {
  const caller = `createHandler(${agent.profile.name})`
  requireAuthOption(caller, options)
  const settings = readHandlerOptions(caller, options)
  const { tenant } = settings
  const hosted = createHostedAgent(agent, settings)
  const service = hosted.serviceFor(tenant)
  const endpoint = createHttpEndpoint({ ...hosted, service }, settings)
  const { logger = consoleLogger } = settings
  const exchange = logRequests(tenant === undefined ? endpoint : belowTenant(tenant, endpoint), logger)
  const { push, erase, drain } = hosted
  return { exchange, fetch: toFetch(exchange), service, push, erase, drain }
}
