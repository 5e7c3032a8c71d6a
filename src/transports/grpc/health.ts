import type { JsonObject } from '../../base/json.ts'
import type { Load } from '../../http/load.ts'
import { methodNamed, serviceNamed } from './proto-registry.ts'
import type { Rpc } from './rpc.ts'
import { type ErrorEncoder, StatusError } from './status.ts'

export interface HealthOptions {
  readonly encodeError: ErrorEncoder
  /** The services whose health can be asked for; the empty name stands for the server as a whole. */
  readonly services: readonly string[]
  /** Aborts when the server takes no new work. */
  readonly draining: AbortSignal
  /** What the server is doing, if it is counted. */
  readonly load?: Pick<Load, 'isOver' | 'watch'> | undefined
}

/** The health checking protocol of gRPC, `grpc.health.v1`. */
export function healthRpcs({ encodeError, services, draining, load }: HealthOptions): readonly Rpc[] {
  const health = serviceNamed('grpc.health.v1.Health')
  const known: ReadonlySet<string> = new Set(['', ...services])
  const isServing = (isOver = load?.isOver()): boolean => !draining.aborted && !isOver
  const status = (serves: boolean): JsonObject => ({ status: serves ? 'SERVING' : 'NOT_SERVING' })

  return [
    {
      type: 'unary',
      method: methodNamed(health, 'Check'),
      encodeError,
      async answer(read) {
        const name = serviceOf(await read())
        if (!known.has(name)) throw new StatusError('NOT_FOUND', `There is no service ${name} here.`)
        return status(isServing())
      },
    },
    {
      type: 'stream',
      method: methodNamed(health, 'Watch'),
      encodeError,
      async *answer(read, { signal }) {
        const isKnown = known.has(serviceOf(await read()))
        let serves = isServing()
        yield { json: isKnown ? status(serves) : { status: 'SERVICE_UNKNOWN' } }
        // A watcher would keep its connection, and the server with it, from closing.
        while (!draining.aborted && !signal.aborted) {
          const now = isServing(await change(load, draining, signal))
          if (isKnown && now !== serves && !signal.aborted) yield { json: status(now) }
          serves = now
        }
      },
    },
  ]
}

function serviceOf(request: unknown): string {
  return (request as { readonly service?: string }).service ?? ''
}

/** Resolves when one of them aborts, or the server begins or ceases to be overloaded: to whether it is. */
function change(load: HealthOptions['load'], ...signals: readonly AbortSignal[]): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (): void => settle(false)
    const settle = (isOver: boolean): void => {
      unwatch?.()
      for (const signal of signals) signal.removeEventListener('abort', finish)
      resolve(isOver)
    }
    const unwatch = load?.watch(settle)
    for (const signal of signals) {
      if (signal.aborted) return finish()
      signal.addEventListener('abort', finish)
    }
  })
}
