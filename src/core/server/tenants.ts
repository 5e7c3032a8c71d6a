import { isObject } from '../base/json.ts'
import { type Incoming, withBody } from '../http/exchange.ts'
import { isJson, parseJsonBody } from '../http/json.ts'
import { A2AError } from '../protocol/errors.ts'
import { createService, type Interceptor } from '../protocol/intercept.ts'
import type { Call, Operation, Service } from '../protocol/service.ts'
import type { Policy } from '../runtime/options.ts'
import { type BodyLimits, unknownTenant } from '../transports/server/call.ts'

/** Rejects every call: of an address that has only tenants, for calls that name none of them. */
export const unknownTenantService: Service = createService({
  unary: (_operation, request: Addressed) => Promise.reject(unknownTenant(request.tenant)),
  stream(_operation, request: Addressed) {
    throw unknownTenant(request.tenant)
  },
})

/**
 * Admits principals of this tenant, principals without a tenant, and principals to whom the policy shows the tenant.
 * For other principals the agent is one that their credentials are not for.
 */
export function requireTenantMember(tenant: string, policy: Policy | undefined): Interceptor {
  function requireMember({ principal }: Call, operation: Operation): void {
    if (principal.tenant === undefined || principal.tenant === tenant) return
    const others = policy?.(principal, operation)
    if (others === 'everyone' || others?.tenants?.includes(tenant)) return
    throw new A2AError('forbidden', 'These credentials are for another tenant.', { metadata: { reason: 'tenant' } })
  }
  return {
    unary(operation, request, call, next) {
      requireMember(call, operation)
      return next(request, call)
    },
    async *stream(operation, request, call, next) {
      requireMember(call, operation)
      yield* next(request, call)
    },
  }
}

/** A request whose tenant was read from its body, and that can still be answered. */
export interface TenantRequest {
  readonly tenant: string | undefined
  readonly incoming: Incoming
}

/**
 * Reads the tenant of a request from its query, or from its JSON-RPC or REST body (A2A 1.0 §5.8). An unreadable body is
 * rejected later, by the endpoint.
 */
export async function readTenant(incoming: Incoming, { bodyLimit, jsonDepth }: BodyLimits): Promise<TenantRequest> {
  const inQuery = new URLSearchParams(incoming.query).get('tenant')
  if (inQuery) return { tenant: inQuery, incoming }
  if (incoming.method !== 'POST' || !isJson(incoming.header('content-type'))) return { tenant: undefined, incoming }
  const body = incoming.bytes(bodyLimit)
  const buffered = withBody(incoming, body)
  try {
    return { tenant: tenantIn(await parseJsonBody(await body, { depth: jsonDepth })), incoming: buffered }
  } catch {
    return { tenant: undefined, incoming: buffered }
  }
}

/** Throws unless the name can be one segment of a path that no other path of the server begins with. */
export function requireTenantName(tenant: string): void {
  if (tenant !== '' && !tenant.includes('/') && !reserved.has(tenant)) return
  const names = [...reserved].join(', ')
  throw new TypeError(`tenant: expected a name without slashes that is none of ${names}, got ${JSON.stringify(tenant)}`)
}

interface Addressed {
  readonly tenant?: string
}

/** Used by paths of A2A and of this server. */
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

function tenantIn(body: unknown): string | undefined {
  if (!isObject(body)) return undefined
  const { tenant } = isObject(body.params) ? body.params : body
  return typeof tenant === 'string' && tenant !== '' ? tenant : undefined
}
