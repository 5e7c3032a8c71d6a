import { isLoopback } from '../http/origin.ts'
import { createRegistryExchange, type RegistryExchangeOptions } from '../registry/http/exchange.ts'
import type { RegistryFetch, RegistryOptions } from '../registry/options.ts'
import { createRegistry, type Registry } from '../registry/registry.ts'
import { createGuardedFetch } from './guarded-fetch/guarded-fetch.ts'
import { type ListenOptions, listen } from './listen.ts'

/** How long callers may take to read their answers, in milliseconds, before they are cut off. */
const readingTime = 2_000

export interface ServeRegistryOptions
  extends Omit<RegistryOptions, 'fetch'>,
    Omit<RegistryExchangeOptions, 'host'>,
    Partial<Omit<ListenOptions, 'grpc' | 'asksCertificate' | 'challenge'>> {
  /** A guarded one unless it is given. */
  readonly fetch?: RegistryFetch
  /** Who publishes the catalog. */
  readonly publisher?: RegistryExchangeOptions['host']
}

export interface RegistryServer {
  readonly url: string
  readonly port: number
  readonly registry: Registry
  close(): Promise<void>
}

/** A registry at a port. On a loopback address whoever is on this machine may add agents, unless `auth` says else. */
export async function serveRegistry(options: ServeRegistryOptions = {}): Promise<RegistryServer> {
  const { host = '127.0.0.1', publisher, ...rest } = options
  const isLocal = isLoopback(host)
  const own = options.fetch ? undefined : createGuardedFetch()
  const fetch = options.fetch ?? (own as RegistryFetch)
  const registry = createRegistry({ ...rest, fetch })
  const auth = options.auth ?? (isLocal ? 'local' : undefined)
  const exchange = createRegistryExchange(registry, {
    ...rest,
    ...(auth && { auth }),
    ...(publisher && { host: publisher }),
  })
  const stop = async () => {
    await registry.close()
    own?.close()
  }
  const listening = await listen(exchange, { port: 0, ...options, host }).catch(async (error) => {
    await stop()
    throw error
  })
  return {
    url: listening.url,
    port: listening.port,
    registry,
    async close() {
      await stop()
      await listening.close({ deadline: readingTime })
    },
  }
}
