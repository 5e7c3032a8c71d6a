import type { JsonObject } from '../../base/json.ts'
import type { Load } from '../../http/load.ts'
import { methodNamed, serviceNamed } from './proto-registry.ts'
import type { Rpc } from './rpc.ts'
import { type ErrorEncoder, StatusError } from './status.ts'

export interface HealthOptions {
  readonly encodeError: ErrorEncoder
  /** The services that callers can check. The empty name stands for the whole server. */
  readonly services: readonly string[]
  /** Aborts when the server accepts no new work. */
  readonly draining: AbortSignal
  /** The load of the server, if it is measured. */
  readonly load?: Pick<Load, 'isOverloaded' | 'watch'> | undefined
  /** Whether the agent can use its store. */
  readonly isReady?: (() => Promise<boolean>) | undefined
}

/** Milliseconds after which a watch checks the store again. */
const watchInterval = 5_000

/** The gRPC health checking protocol, `grpc.health.v1`. */
export function healthRpcs({ encodeError, services, draining, load, isReady }: HealthOptions): readonly Rpc[] {
  const health = serviceNamed('grpc.health.v1.Health')
  const names: ReadonlySet<string> = new Set(['', ...services])
  const isServing = async (isOverloaded = load?.isOverloaded()): Promise<boolean> =>
    !draining.aborted && !isOverloaded && (!isReady || (await isReady()))
  const statusOf = (serving: boolean): JsonObject => ({ status: serving ? 'SERVING' : 'NOT_SERVING' })

  return [
    {
      type: 'unary',
      method: methodNamed(health, 'Check'),
      encodeError,
      async answer(read) {
        const name = serviceOf(await read())
        if (!names.has(name)) throw new StatusError('NOT_FOUND', `There is no service ${name} here.`)
        return statusOf(await isServing())
      },
    },
    {
      type: 'stream',
      method: methodNamed(health, 'Watch'),
      encodeError,
      async *answer(read, { signal }) {
        const exists = names.has(serviceOf(await read()))
        let serving = await isServing()
        yield { json: exists ? statusOf(serving) : { status: 'SERVICE_UNKNOWN' } }
        // Ends while draining: an open watch would keep its connection, and with it the server, from closing.
        while (!draining.aborted && !signal.aborted) {
          const now = await isServing(await nextChange(load, isReady && watchInterval, draining, signal))
          if (exists && now !== serving && !signal.aborted) yield { json: statusOf(now) }
          serving = now
        }
      },
    },
  ]
}

function serviceOf(request: unknown): string {
  return (request as { readonly service?: string }).service ?? ''
}

/**
 * Resolves when a signal aborts, the overload state changes or the interval is over, with whether the server is
 * overloaded.
 */
function nextChange(
  load: HealthOptions['load'],
  interval: number | undefined,
  ...signals: readonly AbortSignal[]
): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (): void => settle(false)
    const timer = interval && setTimeout(() => settle(load?.isOverloaded() ?? false), interval)
    const settle = (isOverloaded: boolean): void => {
      clearTimeout(timer)
      unwatch?.()
      for (const signal of signals) signal.removeEventListener('abort', finish)
      resolve(isOverloaded)
    }
    const unwatch = load?.watch(settle)
    for (const signal of signals) {
      if (signal.aborted) return finish()
      signal.addEventListener('abort', finish)
    }
  })
}
