import { isObject } from '../base/json.ts'
import { type Incoming, withBody } from '../http/exchange.ts'
import { isJson, parseJson } from '../http/json.ts'
import { A2AError, invalidParams } from '../protocol/errors.ts'
import type { Call, Operation, Service } from '../protocol/service.ts'
import type { Policy } from '../runtime/options.ts'

/** One service that hands every call on to the one of its tenant. */
export function tenantService(serviceOf: (tenant: string | undefined) => Service | undefined): Service {
  function at({ tenant }: { readonly tenant?: string }): Service {
    const service = serviceOf(tenant)
    if (service) return service
    const problem = tenant === undefined ? 'expected the tenant that the card names' : 'there is no such tenant'
    throw invalidParams('tenant', problem)
  }
  /** The promise of whoever answers is handed on as it is; every layer that waits costs each request. */
  function pass<R extends { readonly tenant?: string }, T>(
    operation: (service: Service) => (request: R, call: Call) => Promise<T>,
  ): (request: R, call: Call) => Promise<T> {
    return (request, call) => {
      try {
        return operation(at(request))(request, call)
      } catch (error) {
        return Promise.reject(error)
      }
    }
  }
  return {
    sendMessage: pass((service) => service.sendMessage),
    streamMessage: (request, call) => at(request).streamMessage(request, call),
    getTask: pass((service) => service.getTask),
    listTasks: pass((service) => service.listTasks),
    cancelTask: pass((service) => service.cancelTask),
    subscribeToTask: (request, call) => at(request).subscribeToTask(request, call),
    createPushConfig: pass((service) => service.createPushConfig),
    getPushConfig: pass((service) => service.getPushConfig),
    listPushConfigs: pass((service) => service.listPushConfigs),
    deletePushConfig: pass((service) => service.deletePushConfig),
    getExtendedCard: pass((service) => service.getExtendedCard),
  }
}

/**
 * A service of one tenant, for principals of that tenant, of none, and those whom the policy lets see it. Somebody of
 * another one has no more to do with it than with any other agent that its credentials are not for.
 */
export function requireTenantMember(service: Service, tenant: string, policy: Policy | undefined): Service {
  function requireTenant({ principal }: Call, operation: Operation): void {
    if (principal.tenant === undefined || principal.tenant === tenant) return
    const others = policy?.(principal, operation)
    if (others === 'everyone' || others?.tenants?.includes(tenant)) return
    throw new A2AError('forbidden', 'These credentials are for another tenant.', { metadata: { reason: 'tenant' } })
  }
  function once<R, T>(operation: Operation, own: (request: R, call: Call) => Promise<T>) {
    return async (request: R, call: Call): Promise<T> => {
      requireTenant(call, operation)
      return await own(request, call)
    }
  }
  function stream<R, T>(operation: Operation, own: (request: R, call: Call) => AsyncGenerator<T>) {
    return async function* (request: R, call: Call): AsyncGenerator<T> {
      requireTenant(call, operation)
      yield* own(request, call)
    }
  }
  return {
    sendMessage: once('sendMessage', service.sendMessage),
    streamMessage: stream('streamMessage', service.streamMessage),
    getTask: once('getTask', service.getTask),
    listTasks: once('listTasks', service.listTasks),
    cancelTask: once('cancelTask', service.cancelTask),
    subscribeToTask: stream('subscribeToTask', service.subscribeToTask),
    createPushConfig: once('createPushConfig', service.createPushConfig),
    getPushConfig: once('getPushConfig', service.getPushConfig),
    listPushConfigs: once('listPushConfigs', service.listPushConfigs),
    deletePushConfig: once('deletePushConfig', service.deletePushConfig),
    getExtendedCard: once('getExtendedCard', service.getExtendedCard),
  }
}

export interface LookLimits {
  readonly bodyLimit: number
  readonly jsonDepth: number
}

/** A request that was looked at, and can still be answered. */
export interface Addressed {
  readonly tenant: string | undefined
  readonly incoming: Incoming
}

/**
 * For which tenant a request is: by its query, or by its body, of JSON-RPC or of REST (A2A 1.0 §5.8). What cannot be
 * read is left to whoever answers, to be refused.
 */
export async function readTenant(incoming: Incoming, { bodyLimit, jsonDepth }: LookLimits): Promise<Addressed> {
  const named = new URLSearchParams(incoming.query).get('tenant')
  if (named) return { tenant: named, incoming }
  if (incoming.method !== 'POST' || !isJson(incoming.header('content-type'))) return { tenant: undefined, incoming }
  const body = incoming.bytes(bodyLimit)
  const read = withBody(incoming, body)
  try {
    return { tenant: tenantOf(parseJson(await body, { depth: jsonDepth })), incoming: read }
  } catch {
    return { tenant: undefined, incoming: read }
  }
}

/** A tenant is one segment of a path, and must not look like another one. */
export function requireTenant(tenant: string): void {
  if (tenant !== '' && !tenant.includes('/') && !reserved.has(tenant)) return
  const names = [...reserved].join(', ')
  throw new TypeError(`tenant: expected a name without slashes that is none of ${names}, got ${JSON.stringify(tenant)}`)
}

/** Taken by paths of A2A and of this server. */
const reserved: ReadonlySet<string> = new Set([
  'tasks',
  'task',
  'v1',
  'message:send',
  'message:stream',
  'extendedAgentCard',
  '.well-known',
  'healthz',
  'agent',
  'api',
])

function tenantOf(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { tenant } = isObject(body.params) ? body.params : body
  return typeof tenant === 'string' && tenant !== '' ? tenant : undefined
}
