import type { JsonObject } from '../../protocol/model.ts'
import { methodNamed, serviceNamed } from './registry.ts'
import type { Rpc } from './rpc.ts'
import type { ErrorEncoder } from './rpc-status.ts'
import { StatusError } from './status.ts'

export interface HealthOptions {
  readonly encodeError: ErrorEncoder
  /** The services whose health can be asked for; the empty name stands for the server as a whole. */
  readonly services: readonly string[]
  /** Aborts when the server takes no new work. */
  readonly draining: AbortSignal
}

/** The health checking protocol of gRPC, `grpc.health.v1`. */
export function healthRpcs({ encodeError, services, draining }: HealthOptions): readonly Rpc[] {
  const health = serviceNamed('grpc.health.v1.Health')
  const known: ReadonlySet<string> = new Set(['', ...services])
  const status = (): JsonObject => ({ status: draining.aborted ? 'NOT_SERVING' : 'SERVING' })

  return [
    {
      type: 'unary',
      method: methodNamed(health, 'Check'),
      encodeError,
      async answer(read) {
        const name = serviceOf(await read())
        if (!known.has(name)) throw new StatusError('NOT_FOUND', `There is no service ${name} here.`)
        return status()
      },
    },
    {
      type: 'stream',
      method: methodNamed(health, 'Watch'),
      encodeError,
      async *answer(read, { signal }) {
        const isKnown = known.has(serviceOf(await read()))
        yield { json: isKnown ? status() : { status: 'SERVICE_UNKNOWN' } }
        if (draining.aborted) return
        await either(draining, signal)
        // A watcher would keep its connection, and the server with it, from closing.
        if (isKnown && draining.aborted) yield { json: status() }
      },
    },
  ]
}

function serviceOf(request: unknown): string {
  return (request as { readonly service?: string }).service ?? ''
}

/** Resolves when one of them aborts. */
function either(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      for (const signal of signals) signal.removeEventListener('abort', finish)
      resolve()
    }
    for (const signal of signals) {
      if (signal.aborted) return finish()
      signal.addEventListener('abort', finish)
    }
  })
}
