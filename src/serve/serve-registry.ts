import { defined } from '../core/base/json.ts'
import { consoleLogger } from '../core/base/logger.ts'
import {
  aFunction,
  anObject,
  anyOf,
  checkOptions,
  flag,
  httpUrl,
  integer,
  milliseconds,
  type OptionChecks,
  oneOf,
  text,
} from '../core/base/options.ts'
import { isLoopback } from '../core/http/origin.ts'
import { createGuardedFetch } from '../core/node/guarded-fetch/guarded-fetch.ts'
import { type ListenOptions, listen } from '../core/node/listen.ts'
import { loggedError } from '../core/protocol/errors.ts'
import { type ConsoleAccess, consoleUrlOf } from '../operator/access.ts'
import { type ConsoleOptions, checkConsole, readConsoleOptions } from '../operator/options.ts'
import { openRegistryExchange, type RegistryExchangeOptions } from '../registry/http/exchange.ts'
import { createMemoryRegistryStore } from '../registry/memory-store.ts'
import { type RegistryFetch, type RegistryOptions, registryChecks } from '../registry/options.ts'
import { createProbeRecord } from '../registry/probe-record.ts'
import { openRegistry, type Registry } from '../registry/registry.ts'
import { defaultDirectory, openConsoleAccess } from './operator-key.ts'
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
  /**
   * The console at `/console/`, a web application for operators. Defaults to on, with the key in the file `operator-key` of
   * `directory`, on a loopback address; otherwise to off. `false` switches it off.
   */
  readonly console?: ConsoleOptions | false
  /** The folder of the key with which operators log in. Defaults to `.parley`. */
  readonly directory?: string
  /** The address of the registry as browsers reach it, if a proxy is in front. Only the console needs it. */
  readonly publicUrl?: string
  /** Whether a proxy sets the headers `X-Forwarded-*`. Only the console reads them. Defaults to false. */
  readonly trustProxy?: boolean
}

const optionChecks: OptionChecks<ServeRegistryOptions> = {
  ...registryChecks,
  auth: anyOf("'none', 'local' or an object with schemes", oneOf('none', 'local'), anObject),
  mayChange: aFunction,
  maxReading: integer({ min: 1 }),
  maxFollowers: integer({ min: 1 }),
  heartbeat: milliseconds({ min: 1 }),
  publisher: anObject,
  console: checkConsole,
  directory: text,
  publicUrl: httpUrl,
  trustProxy: flag,
  port: integer({ min: 0, max: 65_535 }),
  host: text,
  requestTimeout: milliseconds({ min: 1 }),
  keepAliveTimeout: milliseconds({ min: 1 }),
  unreadTimeout: milliseconds({ min: 1 }),
  tls: anObject,
  maxConnections: integer({ min: 1 }),
  upgrade: anObject,
  onError: aFunction,
  load: anObject,
}

/** A running registry, as `serveRegistry` returns it. */
export interface RegistryServer {
  readonly url: string
  readonly port: number
  /**
   * The address of the console: a link that logs in once, unless `console.auth` says who may log in. Undefined if the
   * console is off.
   */
  readonly consoleUrl: string | undefined
  readonly registry: Registry
  close(): Promise<void>
}

/**
 * Serves a registry on a port. On a loopback address, every caller may add agents unless `auth` is set, and the console
 * is served at `/console/`. Elsewhere, `console: { auth }` switches it on for operators who log in.
 */
export async function serveRegistry(options: ServeRegistryOptions = {}): Promise<RegistryServer> {
  checkOptions('serveRegistry', options, optionChecks)
  const {
    host = '127.0.0.1',
    publisher,
    console: _,
    publicUrl,
    trustProxy,
    directory = defaultDirectory,
    ...shared
  } = options
  const isLocal = isLoopback(host)
  // A registry that only this machine can reach lists agents of this machine.
  const guardedFetch = options.fetch ? undefined : createGuardedFetch({ loopback: isLocal ? 'allow' : 'refuse' })
  const fetch = options.fetch ?? (guardedFetch as RegistryFetch)
  const { logger = consoleLogger } = options
  const consoleOptions = readConsoleOptions({
    caller: 'serveRegistry()',
    console: options.console,
    isLocal: isLocal && !trustProxy && (publicUrl === undefined || isLoopback(new URL(publicUrl).hostname)),
  })
  const access = consoleOptions && (await openConsoleAccess(consoleOptions, { directory, logger }))
  const entries = options.entries ?? createMemoryRegistryStore()
  const probes = createProbeRecord({
    records: entries.operator?.records,
    onError: (error) => logger.debug({ error: loggedError(error) }, 'probes could not be stored'),
  })
  const registry = openRegistry({ ...shared, entries, fetch }, probes.add)
  const auth = options.auth ?? (isLocal ? 'local' : undefined)
  const exchange = openRegistryExchange(registry, {
    ...shared,
    ...defined({ auth }),
    isMeshLocal: isLocal && (options.requireAuth === false || options.firstHandshake !== undefined),
    ...defined({ host: publisher }),
  })
  const served = access
    ? withRegistryConsole(exchange, { options: access, registry, probes, logger, publicUrl, trustProxy })
    : exchange
  const stop = async () => {
    await registry.close()
    await probes.flush()
    guardedFetch?.close()
  }
  const asksCertificate = options.tls !== undefined && needsCertificate(access)
  const listening = await listen(served, { port: 0, ...options, host, asksCertificate }).catch(async (error) => {
    await stop()
    throw error
  })
  return {
    url: listening.url,
    port: listening.port,
    consoleUrl: access && consoleUrlOf(access, publicUrl ?? listening.url),
    registry,
    async close() {
      await stop()
      await listening.close({ deadline: readDeadline })
    },
  }
}

function needsCertificate(options: ConsoleAccess | undefined): boolean {
  const schemes = options && options.auth !== 'none' ? options.auth.schemes : {}
  return Object.values(schemes ?? {}).some((scheme) => scheme.needsCertificate)
}

/** How long callers may take to read their responses after the server has closed, in milliseconds. */
const readDeadline = 2_000
