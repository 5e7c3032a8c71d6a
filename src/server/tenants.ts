import { invalidParams } from '../protocol/errors.ts'
import type { Call, Service } from '../protocol/service.ts'

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

/** A tenant is one segment of a path, and must not look like another one. */
export function requireTenant(tenant: string): void {
  if (tenant !== '' && !tenant.includes('/') && !reserved.has(tenant)) return
  const names = [...reserved].join(', ')
  throw new TypeError(`tenant: expected a name without slashes that is none of ${names}, got ${JSON.stringify(tenant)}`)
}

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
