import { A2AError } from '../protocol/errors.ts'
import type { Call, Operation, Service } from '../protocol/service.ts'
import type { Policy } from '../runtime/options.ts'

/**
 * A service of one tenant, for principals of that tenant, of none, and those whom the policy lets see it. Somebody of
 * another one has no more to do with it than with any other agent that its credentials are not for.
 */
export function boundToTenant(service: Service, tenant: string, policy: Policy | undefined): Service {
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
