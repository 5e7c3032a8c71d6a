import { type Agent, requireAgent } from '../agent/agent.ts'
import { consoleLogger } from '../base/logger.ts'
import { checkOptions } from '../base/options.ts'
import type { Exchange } from '../http/exchange.ts'
import { toFetch } from '../http/fetch.ts'
import type { Service } from '../protocol/service.ts'
import type { PushAdmin } from '../push/admin.ts'
import type { Erased, EraseRequest } from '../runtime/operations/erase.ts'
import { requireAuthOption } from './authentication.ts'
import { createHostedAgent } from './hosted-agent.ts'
import { createHttpEndpoint } from './http-endpoint.ts'
import { belowPath, belowTenant, type MountOptions } from './mount.ts'
import { emptyOrPath, flattenOptions, type HandlerOptions, handlerChecks } from './options.ts'
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
  /**
   * Takes no new work and still answers reads. Lets turns finish until the deadline (in milliseconds), then ends turns
   * and streams. Stopped turns may take another `endWithin` milliseconds, by default `cancelGrace` and 2 seconds.
   */
  drain(deadline: number, endWithin?: number): Promise<void>
}

/**
 * Creates a handler for an agent.
 *
 * `mount` is the path at which callers reach the handler, such as `/agents/echo`. Frameworks that name this path to the
 * handler need no `mount`: Express does, and so do the adapters for Fastify, Hono, Koa and Next.js.
 *
 * @example
 * const handler = createHandler(echo, { auth: 'none', log: createMemoryLog() })
 * export default { fetch: handler.fetch }
 */
export function createHandler(agent: Agent, options: HandlerOptions & Pick<MountOptions, 'mount'>): Handler {
  checkHandlerOptions(agent, options)
  const { mount = '', ...agentOptions } = options
  const settings = flattenOptions(agentOptions)
  const { tenant } = settings
  const hosted = createHostedAgent(agent, settings)
  const endpoint = createHttpEndpoint(hosted, settings)
  const forTenant = tenant === undefined ? endpoint : belowTenant(tenant, endpoint)
  const path = mount.replace(/\/+$/, '')
  const { logger = consoleLogger } = settings
  const exchange = logRequests(path === '' ? forTenant : belowPath(path, forTenant), logger)
  const { service, push, erase, drain } = hosted
  return { exchange, fetch: toFetch(exchange), service, push, erase, drain }
}

/** Throws if `createHandler` would refuse the agent or an option. */
export function checkHandlerOptions(agent: Agent, options: HandlerOptions & Pick<MountOptions, 'mount'>): void {
  requireAgent(agent, 'createHandler(): agent')
  const caller = `createHandler(${agent.profile.name})`
  requireAuthOption(caller, options)
  checkOptions(caller, options, { ...handlerChecks, mount: emptyOrPath })
}
