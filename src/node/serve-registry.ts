import {
  aFunction,
  anyOf,
  checkOptions,
  integer,
  milliseconds,
  type OptionChecks,
  object,
  oneOf,
  text,
} from '../base/options.ts'
import { isLoopback } from '../http/origin.ts'
import { openRegistryExchange, type RegistryExchangeOptions } from '../registry/http/exchange.ts'
import { type RegistryFetch, type RegistryOptions, registryChecks } from '../registry/options.ts'
import { createProbeRecord } from '../registry/probe-record.ts'
import { openRegistry, type Registry } from '../registry/registry.ts'
import { createGuardedFetch } from './guarded-fetch/guarded-fetch.ts'
import { type ListenOptions, listen } from './listen.ts'
import { withRegistryConsole } from './registry-console.ts'

/** Options of `serveRegistry`. */
export interface ServeRegistryOptions
  extends Omit<RegistryOptions, 'fetch'>,
    Omit<RegistryExchangeOptions, 'host' | 'isMeshLocal'>,
    Partial<Omit<ListenOptions, 'grpc' | 'asksCertificate' | 'challenge'>> {
  /** Defaults to a fetch that refuses private addresses, and this machine unless the registry listens on loopback. */
  readonly fetch?: RegistryFetch
  /** The publisher named in the catalog. */
  readonly publisher?: RegistryExchangeOptions['host']
}

const optionChecks: OptionChecks<ServeRegistryOptions> = {
  ...registryChecks,
  auth: anyOf("'none', 'local' or an object with schemes", oneOf('none', 'local'), object),
  mayChange: aFunction,
  maxReading: integer({ min: 1 }),
  maxFollowers: integer({ min: 1 }),
  heartbeat: milliseconds({ min: 1 }),
  publisher: object,
  port: integer({ min: 0, max: 65_535 }),
  host: text,
  requestTimeout: milliseconds({ min: 1 }),
  keepAliveTimeout: milliseconds({ min: 1 }),
  unreadTimeout: milliseconds({ min: 1 }),
  tls: object,
  maxConnections: integer({ min: 1 }),
  upgrade: object,
  onError: aFunction,
  load: object,
}

/** A running registry, as `serveRegistry` returns it. */
export interface RegistryServer {
  readonly url: string
  readonly port: number
  readonly registry: Registry
  close(): Promise<void>
}

/**
 * Serves a registry on a port. On a loopback address, every caller may add agents unless `auth` is set, and the console
 * is served at `/console/`.
 */
export async function serveRegistry(options: ServeRegistryOptions = {}): Promise<RegistryServer> {
  checkOptions('serveRegistry', options, optionChecks)
  const { host = '127.0.0.1', publisher, ...shared } = options
  const isLocal = isLoopback(host)
  // A registry that only this machine can reach lists agents of this machine.
  const guardedFetch = options.fetch ? undefined : createGuardedFetch({ loopback: isLocal ? 'allow' : 'refuse' })
  const fetch = options.fetch ?? (guardedFetch as RegistryFetch)
  const probes = createProbeRecord()
  const registry = openRegistry({ ...shared, fetch }, probes.add)
  const auth = options.auth ?? (isLocal ? 'local' : undefined)
  const exchange = openRegistryExchange(registry, {
    ...shared,
    ...(auth && { auth }),
    isMeshLocal: isLocal && (options.requireAuth === false || options.firstHandshake !== undefined),
    ...(publisher && { host: publisher }),
  })
  const hasConsole = isLocal && options.auth === undefined
  const served = hasConsole ? withRegistryConsole(exchange, { registry, probes, logger: options.logger }) : exchange
  const stop = async () => {
    await registry.close()
    guardedFetch?.close()
  }
  const listening = await listen(served, { port: 0, ...options, host }).catch(async (error) => {
    await stop()
    throw error
  })
  return {
    url: listening.url,
    port: listening.port,
    registry,
    async close() {
      await stop()
      await listening.close({ deadline: readDeadline })
    },
  }
}

/** How long callers may take to read their responses after the server has closed, in milliseconds. */
const readDeadline = 2_000
