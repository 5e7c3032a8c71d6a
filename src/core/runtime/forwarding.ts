import { type Clock, systemClock } from '../base/clock.ts'
import { A2AError } from '../protocol/errors.ts'
import { type Interceptor, intercept } from '../protocol/intercept.ts'
import type { Service } from '../protocol/service.ts'
import { createOpenStreams } from './open-streams.ts'
import type { Runtime } from './runtime.ts'

/**
 * Takes the place of the runtime for an agent whose tasks are elsewhere: no log, no turns, no webhooks. It accepts no new
 * messages while it drains, ends streams then, and ends those of callers whose credentials expire.
 */
export function createForwarding(service: Service, clock: Clock = systemClock): Runtime {
  const closing = new AbortController()
  const streams = createOpenStreams(closing.signal, clock)
  let open = 0
  let isDraining = false
  let onIdle: (() => void) | undefined

  function requireOpen(): void {
    if (isDraining) throw new A2AError('unavailable', 'The server is shutting down: try again.', { retryAfter: 1 })
  }

  function end(): void {
    open--
    if (open === 0) onIdle?.()
  }

  const counting: Interceptor = {
    async sendMessage(request, call, next) {
      requireOpen()
      open++
      try {
        return await next(request, call)
      } finally {
        end()
      }
    },
    async *stream(operation, request, call, next) {
      if (operation === 'streamMessage') requireOpen()
      open++
      try {
        yield* streams.open(call, (linked) => next(request, linked))
      } finally {
        end()
      }
    },
  }

  return {
    service: intercept(service, [counting]),
    push: undefined,
    reserved: Promise.resolve(),
    recovery: 'fail',
    gauges: { runs: () => open, queued: () => 0, webhooks: () => 0 },
    lastDialect: async () => undefined,
    erase: async () => ({ tasks: [], pushConfigs: 0 }),
    async drain(deadline) {
      isDraining = true
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve
      })
      const timer = clock.setTimeout(() => onIdle?.(), deadline)
      if (open > 0) await idle
      clock.clearTimeout(timer)
      closing.abort('closing')
    },
  }
}
