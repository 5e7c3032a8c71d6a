import { invalidParams } from '../protocol/errors.ts'
import type { Service } from '../protocol/service.ts'

/** One service that hands every call on to the one of its tenant. */
export function tenantService(serviceOf: (tenant: string | undefined) => Service | undefined): Service {
  function at({ tenant }: { readonly tenant?: string }): Service {
    const service = serviceOf(tenant)
    if (service) return service
    const problem = tenant === undefined ? 'expected the tenant that the card names' : 'there is no such tenant'
    throw invalidParams('tenant', problem)
  }
  return {
    sendMessage: async (request, call) => await at(request).sendMessage(request, call),
    streamMessage: (request, call) => at(request).streamMessage(request, call),
    getTask: async (request, call) => await at(request).getTask(request, call),
    listTasks: async (request, call) => await at(request).listTasks(request, call),
    cancelTask: async (request, call) => await at(request).cancelTask(request, call),
    subscribeToTask: (request, call) => at(request).subscribeToTask(request, call),
    createPushConfig: async (request, call) => await at(request).createPushConfig(request, call),
    getPushConfig: async (request, call) => await at(request).getPushConfig(request, call),
    listPushConfigs: async (request, call) => await at(request).listPushConfigs(request, call),
    deletePushConfig: async (request, call) => await at(request).deletePushConfig(request, call),
    getExtendedCard: async (request, call) => await at(request).getExtendedCard(request, call),
  }
}
