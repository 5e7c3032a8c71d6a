import { A2AError } from '../protocol/errors.ts'
import { intercept } from '../protocol/intercept.ts'
import type { Service } from '../protocol/service.ts'
import type { FollowedAgent } from './dialect.ts'

/** The web servers under which agents of the SDK for Python run, as the `Server` header names them. */
export const pythonServers = /uvicorn|hypercorn|granian|gunicorn|python/i

/**
 * The service of an agent that may be one of the SDK for Python before 1.0. Those store every event again that a
 * subscription reads, so that artifacts have their chunks twice. A client that can poll the task instead does so.
 */
export function withoutSubscriptions(service: Service, { headers }: FollowedAgent): Service {
  if (!pythonServers.test(headers?.get('server') ?? '')) return service
  return intercept(service, [
    {
      async *subscribeToTask(request, call, next) {
        if (!request.includeEnded) return yield* next(request, call)
        const problem = 'Agents of the SDK for Python before 1.0 store what a subscription reads twice.'
        throw new A2AError('unsupported-operation', problem, { reason: 'not-subscribed' })
      },
    },
  ])
}
