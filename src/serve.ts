import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Agent } from './agent/agent.ts'
import { consoleLogger, type Logger } from './base/logger.ts'
import type { LoopbackRule } from './http/address-guard.ts'
import type { Exchange } from './http/exchange.ts'
import { createHostCheck, type HostCheck } from './http/host-check.ts'
import { isLoopback } from './http/origin.ts'
import type { MeshEndpoint } from './mesh-bridge/endpoint.ts'
import { type Listening, listen } from './node/listen.ts'
import { createServerLoad, type OverloadOptions, type ServerLoad } from './node/server-load.ts'
import { socketsAt } from './node/websocket-upgrade.ts'
import type { PushFetch, PushOptions } from './push/options.ts'
import {
  type AddOptions,
  type Agents,
  checkServeOptions,
  type ServeMeshOptions,
  type ServeOptions,
  type ServePushOptions,
  type Server,
} from './serve-options.ts'
import { type AuthChoice, requireAuthOption } from './server/authentication.ts'
import { slug } from './server/card.ts'
import type { GrpcModule } from './server/grpc-router.ts'
import { createHost, type Host } from './server/host.ts'
import type { HostedAgent } from './server/hosted-agent.ts'
import { withHostCheck } from './server/http-endpoint.ts'
import { type HandlerOptions, mergeOptions } from './server/options.ts'
import { createSqliteLog } from './stores/sqlite/sqlite-log.ts'
import { ForeignLog, type TaskLog } from './tasks/log.ts'

/** How long callers may take to read the end of their responses after all turns have ended, in milliseconds. */
const readDeadline = 2_000

/**
 * Serves one agent, or several by their paths, over HTTP. Each agent has its own durable task log, by default in the
 * file `.parley/<name>.db`.
 */
export async function serve(served: Agent | Agents, options: ServeOptions = {}): Promise<Server> {
  checkServeOptions(options)
  const agents = isAgent(served) ? { '': served } : served
  checkAgents(agents, options)
  const settings = await readSettings(options)
  const { load, logger, drainDeadline } = settings
  const draining = new AbortController()
  const grpc = options.grpc ? { ...(await loadGrpc()), draining: draining.signal, load } : undefined
  const host = createHost({ load, isOnLoopback: isLoopback(options.host ?? '127.0.0.1'), ...(grpc && { grpc }) })
  const mounts = createMounts(host, settings)
  let first: HostedAgent | undefined
  let mesh: MeshEndpoint | undefined
  let listening: Listening | undefined
  try {
    for (const [mount, agent] of Object.entries(agents)) {
      const hosted = mounts.add(agent, options.log ? { mount, log: options.log } : { mount })
      await hosted.reserved
      first ??= hosted
    }
    listening = await listenFor(host, settings, () => mesh)
    // The mesh card names the address, so the endpoint opens once the port is known.
    if (first) mesh = await openMesh(first, settings, listening)
  } catch (error) {
    await listening?.close({ deadline: 0 })
    load?.stop()
    await host.drain(0)
    await mounts.closeLogs()
    throw error
  }
  const { url, port, close: stopListening } = listening

  async function stop(): Promise<void> {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
    await mesh?.deregister()
    draining.abort()
    const drained = host.drain(drainDeadline).finally(() => mesh?.close())
    await Promise.all([drained, stopListening({ deadline: readDeadline, drained })])
    load?.stop()
    await mounts.closeLogs()
  }

  let closing: Promise<void> | undefined
  function onSignal(): void {
    closing ??= stop().catch((error) => {
      logger.error({ error }, 'the server could not be closed cleanly')
      process.exitCode = 1
    })
  }
  if (settings.signals) process.on('SIGTERM', onSignal).on('SIGINT', onSignal)

  return {
    url,
    mesh: mesh?.peer,
    cardUrl: `${url}${firstPathOf(agents)}/.well-known/agent-card.json`,
    port,
    push: first?.push,
    add: (agent, options = {}) => mounts.add(agent, options),
    erase: host.erase,
    remove: mounts.remove,
    close() {
      closing ??= stop()
      return closing
    },
  }
}

/** The options with their defaults, and what was created from them. */
interface ServeSettings {
  readonly options: ServeOptions
  readonly auth: AuthChoice
  readonly asksCertificate: boolean
  /** The push options of an agent, which differ by whether only this machine can call it. */
  readonly pushFor: ((isLocal: boolean) => PushOptions) | undefined
  readonly load: ServerLoad | undefined
  readonly logger: Logger
  readonly directory: string
  readonly drainDeadline: number
  readonly signals: boolean
}

async function readSettings(options: ServeOptions): Promise<ServeSettings> {
  const { directory = '.parley', drainDeadline = 10_000, signals = true, logger = consoleLogger, http = {} } = options
  const auth = authOf(options)
  if (options.tls?.requestCert === false && needsCertificate(auth)) {
    throw new TypeError('serve(): tls.requestCert: expected true, since a scheme in auth needs certificates.')
  }
  return {
    options,
    auth,
    asksCertificate: options.tls !== undefined && needsCertificate(auth),
    pushFor: options.push && (await createPushOptions(options.push)),
    load: http.overload === false ? undefined : createLoggedLoad(http.overload, logger),
    logger,
    directory,
    drainDeadline,
    signals,
  }
}

function isAgent(served: Agent | Agents): served is Agent {
  return typeof served.run === 'function'
}

function checkAgents(agents: Agents, { log, mesh }: ServeOptions): void {
  const { length } = Object.keys(agents)
  if (length === 0) throw new TypeError('serve(): expected an agent, or several by their paths, got none')
  // Agents must not see each other's tasks.
  if (length > 1 && log) {
    throw new TypeError('serve(): several agents need a log each: hand it to server.add(agent, { log })')
  }
  if (length > 1 && mesh) throw new TypeError('serve(): only one agent can be a peer of the mesh.')
}

/** Without `auth`, only callers on this machine may call, as during development; another `host` requires `auth`. */
function authOf({ auth, host = '127.0.0.1', publicUrl, trustProxy }: ServeOptions): AuthChoice {
  if (auth !== undefined) {
    requireAuthOption('serve()', { auth })
    return auth
  }
  if (!isLoopback(host)) {
    throw new Error(
      `serve(): ${host} can be reached from other machines, and nothing says who may call. ` +
        `Declare it by \`auth: { schemes: … }\`, or say \`auth: 'none'\` to let everybody in.`,
    )
  }
  return { anonymous: { listAll: isLocalOnly({ host, publicUrl, trustProxy }) } }
}

/**
 * Whether only this machine can call the server. Behind a proxy, callers are on other machines although the connection
 * comes from this one; `publicUrl` and `trustProxy` reveal a proxy.
 */
function isLocalOnly({ host = '127.0.0.1', publicUrl, trustProxy }: ServerAddress): boolean {
  const isPublic = publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname)
  return isLoopback(host) && !isPublic && !trustProxy
}

type ServerAddress = { readonly [K in 'host' | 'publicUrl' | 'trustProxy']?: ServeOptions[K] | undefined }

function needsCertificate(auth: AuthChoice): boolean {
  const schemes = auth === 'none' ? {} : (auth.schemes ?? {})
  return Object.values(schemes).some((scheme) => scheme.needsCertificate)
}

/**
 * Defaults to a fetch that refuses private addresses; loaded only when push is enabled. It calls this machine only for
 * agents that other machines cannot call: everybody else must not make the server call its own machine.
 */
async function createPushOptions(options: ServePushOptions): Promise<(isLocal: boolean) => PushOptions> {
  const { schemes, allow, loopback, redirects, tls, resolve, ...push } = options
  const { fetch, timeout } = push
  if (fetch) return () => ({ ...push, fetch })
  const { createPushFetch } = await import('./node/guarded-fetch/push-fetch.ts')
  const guard = { schemes, allow, redirects, tls, resolve, timeout }
  const fetches = new Map<LoopbackRule, PushFetch>()
  return (isLocal) => {
    const rule = loopback ?? (isLocal ? 'allow' : 'refuse')
    const fetch = fetches.get(rule) ?? createPushFetch({ ...guard, loopback: rule })
    fetches.set(rule, fetch)
    return { ...push, fetch }
  }
}

function createLoggedLoad(options: OverloadOptions = {}, logger: Logger): ServerLoad {
  const load = createServerLoad(options)
  load.watch((isOver, state) => {
    if (isOver) logger.warn(state, 'overloaded: calls get 503 for a while')
    else logger.info(state, 'not overloaded any more')
  })
  return load
}

/** Loaded only when gRPC is enabled. */
async function loadGrpc(): Promise<GrpcModule> {
  const [{ createGrpc }, { tenantOf }] = await Promise.all([
    import('./transports/grpc/server.ts'),
    import('./transports/grpc/tenant.ts'),
  ])
  return { createGrpc, tenantOf }
}

/** Adds agents to the host with the server's options, and owns the SQLite logs that it opens for them. */
interface Mounts {
  add(agent: Agent, options: AddOptions): HostedAgent
  remove(agent: HostedAgent): Promise<void>
  closeLogs(): Promise<void>
}

function createMounts(host: Host, settings: ServeSettings): Mounts {
  const { auth, asksCertificate, pushFor, logger, directory, drainDeadline } = settings
  const shared = sharedOptions(settings.options)
  const openedLogs = new Map<HostedAgent, TaskLog>()
  return {
    add(agent, mount) {
      if (needsCertificate(mount.auth ?? auth) && !asksCertificate) {
        throw new TypeError(
          'serve(): a scheme asks for certificates: give `tls` to serve, and the scheme in its `auth`.',
        )
      }
      const merged = mergeOptions({ ...shared, logger }, mount)
      const isLocal = isLocalOnly({ ...merged, host: settings.options.host })
      const opened = mount.log ? undefined : openLog(directory, agent, mount, logger)
      try {
        const hosted = host.add(agent, {
          ...merged,
          ...(pushFor && !merged.push && { push: pushFor(isLocal) }),
          ...(!isLocal && { calls: { loopback: 'refuse', ...merged.calls } }),
          // `auth: undefined` means the server's auth, not open access.
          auth: mount.auth ?? auth,
          ...(opened && { log: opened }),
        })
        if (opened) openedLogs.set(hosted, opened)
        return hosted
      } catch (error) {
        void opened?.close()
        throw error
      }
    },
    async remove(hosted) {
      await host.remove(hosted, drainDeadline)
      await openedLogs.get(hosted)?.close()
      openedLogs.delete(hosted)
    },
    async closeLogs() {
      await Promise.all([...openedLogs.values()].map((log) => log.close()))
      openedLogs.clear()
    },
  }
}

/** The options of the server that its agents share: everything but where it listens and what each agent has alone. */
function sharedOptions(options: ServeOptions): Omit<HandlerOptions, 'auth'> {
  const { port: _, host, tls, directory, drainDeadline, signals, mesh, log, push, http = {}, ...shared } = options
  const { requestTimeout, keepAliveTimeout, unreadTimeout, overload, ...limits } = http
  return { ...shared, http: limits }
}

/** Opens the log of an agent at its mount. If its file belongs to an agent with a similar name, it gets another one. */
function openLog(directory: string, { profile }: Agent, options: AddOptions, logger: Logger): TaskLog {
  const { mount = '', hostname, tenant } = options
  const path = mount.replace(/^\/+|\/+$/g, '')
  const address = [hostname, path, tenant && `~${tenant}`].filter((part) => part).join('/')
  const agent = address === '' ? profile.name : `${profile.name} at ${address}`
  const base = address === '' ? slug(profile.name) : `${slug(profile.name)}@${encodeURIComponent(address)}`
  try {
    return createSqliteLog({ file: join(directory, `${base}.db`), agent, logger })
  } catch (error) {
    if (!(error instanceof ForeignLog)) throw error
    const digest = createHash('sha256').update(agent).digest('hex').slice(0, 16)
    return createSqliteLog({ file: join(directory, `${base}-${digest}.db`), agent, logger })
  }
}

function listenFor(
  host: Host,
  { options, asksCertificate, load, logger }: ServeSettings,
  endpoint: () => MeshEndpoint | undefined,
): Promise<Listening> {
  const { mesh } = options
  const meshExchange: Exchange = (incoming) => (endpoint()?.exchange ?? host.exchange)(incoming)
  const meshCheck = mesh && createMeshHostCheck(mesh, options)
  const checkedMesh = meshCheck ? withHostCheck(meshExchange, meshCheck) : meshExchange
  const exchange: Exchange = mesh
    ? (incoming) => (incoming.path === endpoint()?.path ? checkedMesh(incoming) : host.exchange(incoming))
    : host.exchange
  const { port = 0, host: address, tls, http: { requestTimeout, keepAliveTimeout, unreadTimeout } = {} } = options
  return listen(exchange, {
    port,
    ...(address !== undefined && { host: address }),
    ...(tls && { tls }),
    ...(requestTimeout !== undefined && { requestTimeout }),
    ...(keepAliveTimeout !== undefined && { keepAliveTimeout }),
    ...(unreadTimeout !== undefined && { unreadTimeout }),
    onError: (error) => logger.error({ error }, 'a request failed unexpectedly'),
    asksCertificate,
    challenge: host.challenge,
    grpc: host.grpc,
    load,
    ...(load && { maxConnections: load.connections }),
    upgrade: mesh?.sockets && socketsAt(mesh.path ?? '/mesh', mesh.sockets, (socket) => endpoint()?.accept(socket)),
  })
}

/** A mesh peer accepts strangers if it requires no signatures, or trusts a key at its first use. */
function createMeshHostCheck(
  { requireAuth, firstHandshake }: ServeMeshOptions,
  { host = '127.0.0.1', publicUrl, http = {} }: ServeOptions,
): HostCheck | undefined {
  const acceptsStrangers = requireAuth === false || firstHandshake !== undefined
  return createHostCheck({ hosts: http.hosts ?? (isLoopback(host) && acceptsStrangers ? [] : 'any'), publicUrl })
}

async function openMesh(
  agent: HostedAgent,
  { options, logger }: ServeSettings,
  listening: Listening,
): Promise<MeshEndpoint | undefined> {
  const { mesh, telemetry, publicUrl = listening.url } = options
  if (!mesh) return undefined
  const { openMeshEndpoint } = await import('./mesh-bridge/endpoint.ts')
  return await openMeshEndpoint(agent, { telemetry, ...mesh }, { url: publicUrl.replace(/\/+$/, ''), logger })
}

function firstPathOf(agents: Agents): string {
  return (Object.keys(agents)[0] ?? '').replace(/\/+$/, '')
}
