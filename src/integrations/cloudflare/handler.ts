import type { Agent } from '../../core/agent/agent.ts'
import { defined } from '../../core/base/json.ts'
import { createMemoryLimits } from '../../core/limits/limit-store.ts'
import { toLimitOptions } from '../../core/limits/limits.ts'
import { checkHandlerOptions, createHandler as createSharedHandler, type Handler } from '../../core/server/handler.ts'
import { createMemoryLog } from '../../core/tasks/memory-log.ts'

/**
 * Creates a handler for an agent. In a Worker, each request gets a runtime of its own, because its timers and streams end with it:
 * requests share the task log and what `limits` counts, as processes do. A turn ends with the request that started it. For turns and
 * tasks that outlive requests, use `createWorker` of `parley-a2a/cloudflare`.
 */
export const createHandler: typeof createSharedHandler = (agent: Agent, options) => {
  checkHandlerOptions(agent, options)
  const { limits, log = createMemoryLog() } = options
  const counted = limits && { store: createMemoryLimits(), ...toLimitOptions(limits) }
  const shared = defined({ ...options, log, limits: counted })
  const open = (): Handler => createSharedHandler(agent, shared)
  return {
    fetch: (request) => open().fetch(request),
    exchange: (incoming) => open().exchange(incoming),
    get service() {
      return open().service
    },
    get push() {
      return open().push
    },
    erase: (request) => open().erase(request),
    drain: async () => {},
  }
}
