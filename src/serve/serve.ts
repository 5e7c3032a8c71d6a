import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Agent } from '../core/agent/agent.ts'
import { defined } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import type { OperatorState } from '../core/base/operator-state.ts'
import type { LoopbackRule } from '../core/http/address-guard.ts'
import type { Exchange } from '../core/http/exchange.ts'
import { createHostCheck, type HostCheck } from '../core/http/host-check.ts'
import { isLoopback } from '../core/http/origin.ts'
import { type Listening, listen } from '../core/node/listen.ts'
import { createLogger } from '../core/node/logger.ts'
import { createServerLoad, type OverloadOptions, type ServerLoad } from '../core/node/server-load.ts'
import { createShutdown, type ShutdownTimes } from '../core/node/shutdown.ts'
import { socketsAt } from '../core/node/websocket-upgrade.ts'
import { loggedError } from '../core/protocol/errors.ts'
import type { PushFetch, PushOptions } from '../core/push/options.ts'
import { type AuthChoice, requireAuthOption } from '../core/server/authentication.ts'
import type { GrpcModule } from '../core/server/grpc-router.ts'
import { createHost, type Host } from '../core/server/host.ts'
import type { HostedAgent } from '../core/server/hosted-agent.ts'
import { withHostCheck } from '../core/server/http-endpoint.ts'
import { logGrpcRequests, logRequests } from '../core/server/request-log.ts'
import type { TaskLog } from '../core/tasks/log.ts'
import type { MeshEndpoint } from '../mesh/bridge/endpoint.ts'
import { consoleUrlOf } from '../operator/access.ts'
import type { GatewayState } from '../operator/contract-tools.ts'
import { readConsoleOptions } from '../operator/options.ts'
import { createConsoleRecorder } from '../operator/recorder.ts'
import { createConsolePages } from './console.ts'
import { withEnvironment } from './environment.ts'
import { createMounts, isLocalOnly, needsCertificate, type RecordedSettings, type ServeSettings } from './mounts.ts'
import { defaultDirectory, openConsoleAccess } from './operator-key.ts'
import {
  type AddOptions,
  type Agents,
  checkAgents,
  checkServeOptions,
  isAgent,
  type ServeMeshOptions,
  type ServeOptions,
  type ServePushOptions,
  type Server,
} from './options.ts'
import { describeStart } from './start.ts'
import { createPostgresStores, createSqliteStores } from './stores.ts'

/**
 * Serves one agent, or several by their paths, over HTTP. Each agent has its own durable task log, by default in the
 * file `.parley/<name>.db`.
 *
 * @example
 * const server = await serve(echo, { port: 4000 })
 * console.log(server.url)
 */
export async function serve(served: Agent | Agents, serveOptions: ServeOptions = {}): Promise<Server> {
  checkServeOptions(serveOptions)
  const { options, databaseUrl } = withEnvironment(serveOptions, process.env)
  const agents = isAgent(served) ? { '': served } : served
  checkAgents(agents, options)
  return await startServer(agents, options, { databaseUrl })
}

/** What a server that is composed of other parts adds to `serve`. */
export interface StartOptions {
  readonly databaseUrl: string | undefined
  /** Wraps the exchange of the whole server. */
  readonly around?: (exchange: Exchange) => Exchange
  /** What the console shows of a gateway. */
  readonly gateway?: () => GatewayState
}

/** A server whose agents may be added later, also with logs of their own. */
export interface StartedServer extends Server {
  /** Opens the log of an agent that is added later. The server closes it when the agent is removed. */
  openLog(agent: Agent, mount: AddOptions): Promise<TaskLog>
  addWithLog(agent: Agent, options: AddOptions, log: TaskLog | undefined): HostedAgent
  /** With a deadline in milliseconds for turns and streams, instead of `drainDeadline`. */
  remove(agent: HostedAgent, deadline?: number): Promise<void>
  readonly mounted: Host['mounted']
}

/** Starts a server with checked options. It may have no agent at first. */
export async function startServer(
  agents: Agents,
  options: ServeOptions,
  { databaseUrl, around, gateway }: StartOptions,
): Promise<StartedServer> {
  const settings = await readSettings(options, databaseUrl)
  const { load, logger, drainDeadline, stores } = settings
  const startedAt = performance.now()
  logger.info(describeStart(agents, settings), 'server starting')
  const draining = new AbortController()
  const grpc = options.grpc ? { ...(await loadGrpc()), draining: draining.signal, load } : undefined
  const recorder =
    settings.console && createConsoleRecorder({ process: processName(), logger, state: () => operatorStateOf(host) })
  const host: Host = createHost({
    load,
    isOnLoopback: isLoopback(options.host ?? '127.0.0.1'),
    ...defined({ grpc }),
    pages:
      settings.console &&
      recorder &&
      createConsolePages({
        ...settings,
        console: settings.console,
        recorder,
        mounted: () => host.mounted(),
        address: () => listening?.url,
        mesh: options.mesh && (() => mesh?.state()),
        gateway,
      }),
  })
  const closing = new AbortController()
  const mounts = createMounts(host, { ...settings, recorder }, (log) => void watchLog(log))
  let first: HostedAgent | undefined
  let mesh: MeshEndpoint | undefined
  let listening: Listening | undefined
  try {
    for (const [mount, agent] of Object.entries(agents)) {
      const opened = options.log ? undefined : await stores.open(agent, { mount })
      const hosted = mounts.add(agent, options.log ? { mount, log: options.log } : { mount }, opened)
      await hosted.reserved
      first ??= hosted
    }
    listening = await listenFor(host, settings, () => mesh, around)
    // The mesh card names the address, so the endpoint opens once the port is known.
    if (first) mesh = await openMesh(first, { ...settings, recorder }, listening)
  } catch (error) {
    closing.abort()
    await listening?.close({ deadline: 0 })
    load?.stop()
    await host.drain(0)
    await mounts.closeLogs()
    await stores.close()
    throw error
  }
  const { url, port, drain: drainConnections, close: stopListening } = listening
  const consoleUrl = settings.console && consoleUrlOf(settings.console, options.publicUrl ?? url)
  logger.info({ url, ...shownLink(settings, consoleUrl), duration: millisecondsSince(startedAt) }, 'server ready')

  async function stop({ turns, stoppedTurns, readers }: ShutdownTimes, reason: string): Promise<void> {
    const stoppingAt = performance.now()
    logger.info({ url, reason, deadline: drainDeadline }, 'server draining')
    closing.abort()
    draining.abort()
    drainConnections()
    const drained = host.drain(turns, stoppedTurns)
    // Another peer must not wait for a registry that does not answer.
    await Promise.all([drained, mesh?.deregister()]).finally(() => mesh?.close())
    await stopListening({ deadline: readers })
    load?.stop()
    await recorder?.flush()
    await mounts.closeLogs()
    await stores.close()
    logger.info({ url, duration: millisecondsSince(stoppingAt) }, 'server stopped')
  }

  /** A process that cannot reach its tasks is of no use: its supervisor should start another one. */
  async function watchLog(log: TaskLog): Promise<void> {
    const reason = await log.whenLost?.(settings.patience, closing.signal)
    if (reason) shutdown.fail(reason)
  }

  const shutdown = createShutdown({ stop, drainDeadline, handlesSignals: settings.signals, logger })

  return {
    url,
    mesh: mesh?.peer,
    cardUrl: `${url}${firstPathOf(agents)}/.well-known/agent-card.json`,
    consoleUrl,
    port,
    push: first?.push,
    add: (agent, options = {}) => mounts.add(agent, options),
    erase: host.erase,
    remove: (agent: HostedAgent, deadline?: number) => mounts.remove(agent, deadline),
    close: shutdown.close,
    openLog: stores.open,
    addWithLog: mounts.add,
    mounted: host.mounted,
  }
}

/** A link that logs in goes to a terminal only: lines that are collected are read by others. */
function shownLink({ options, console }: ServeSettings, consoleUrl: string | undefined): { readonly console?: string } {
  const isTerminal = options.logger === undefined && process.stderr.isTTY === true
  return consoleUrl !== undefined && console?.link && isTerminal ? { console: consoleUrl } : {}
}

/** Where records are that belong to no task: in the log of the first agent that has a place for them. */
function operatorStateOf(host: Pick<Host, 'mounted'>): OperatorState | undefined {
  return host.mounted().find(({ agent }) => agent.log.operator)?.agent.log.operator
}

async function readSettings(options: ServeOptions, databaseUrl: string | undefined): Promise<ServeSettings> {
  const { directory = defaultDirectory, drainDeadline = 10_000, signals = true, http = {} } = options
  const { patience = 60_000 } = options
  const auth = authOf(options)
  if (options.tls?.requestCert === false && needsCertificate(auth)) {
    throw new TypeError('serve(): tls.requestCert: expected true, since a scheme in auth needs certificates.')
  }
  const consoleOptions = readConsoleOptions({
    caller: 'serve()',
    console: options.console,
    isLocal: isLocalOnly(options),
  })
  const { logger = createLogger() } = options
  const access = consoleOptions && (await openConsoleAccess(consoleOptions, { directory, logger }))
  return {
    options,
    auth,
    console: access,
    asksCertificate: options.tls !== undefined && (needsCertificate(auth) || needsCertificate(access?.auth ?? 'none')),
    pushFor: options.push && (await createPushOptions(options.push)),
    load: http.overload === false ? undefined : createLoggedLoad(http.overload, logger),
    logger,
    stores: databaseUrl
      ? await createPostgresStores(databaseUrl, { logger, patience })
      : createSqliteStores(directory, logger),
    drainDeadline,
    patience,
    signals,
  }
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
 * Defaults to a fetch that refuses private addresses; loaded only when push is enabled. It calls this machine only for
 * agents that other machines cannot call, and only if no proxy has forwarded the registration: callers elsewhere must not
 * make the server call its own machine.
 */
async function createPushOptions(options: ServePushOptions): Promise<(isLocal: boolean) => PushOptions> {
  const { schemes, allow, loopback, redirects, tls, resolve, ...push } = options
  const { fetch, timeout } = push
  if (fetch) return () => ({ ...push, fetch })
  const { createPushFetch } = await import('../core/node/guarded-fetch/push-fetch.ts')
  const guard = { schemes, allow, redirects, tls, resolve, timeout }
  const fetches = new Map<LoopbackRule, PushFetch>()
  const fetchBy = (rule: LoopbackRule): PushFetch => {
    const fetch = fetches.get(rule) ?? createPushFetch({ ...guard, loopback: rule })
    fetches.set(rule, fetch)
    return fetch
  }
  if (loopback) return () => ({ ...push, fetch: fetchBy(loopback) })
  return (isLocal) => {
    const fetch = fetchBy(isLocal ? 'allow' : 'refuse')
    return { ...push, fetch: isLocal ? Object.assign(fetch, { forwarded: fetchBy('refuse') }) : fetch }
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
    import('../core/transports/grpc/server.ts'),
    import('../core/transports/grpc/tenant.ts'),
  ])
  return { createGrpc, tenantOf }
}

function millisecondsSince(start: number): number {
  return Math.round(performance.now() - start)
}

function listenFor(
  host: Host,
  { options, asksCertificate, load, logger }: ServeSettings,
  endpoint: () => MeshEndpoint | undefined,
  around: StartOptions['around'] = (exchange) => exchange,
): Promise<Listening> {
  const { mesh } = options
  const meshExchange: Exchange = (incoming) => (endpoint()?.exchange ?? host.exchange)(incoming)
  const meshCheck = mesh && createMeshHostCheck(mesh, options)
  const checkedMesh = meshCheck ? withHostCheck(meshExchange, meshCheck) : meshExchange
  const exchange: Exchange = mesh
    ? (incoming) => (incoming.path === endpoint()?.path ? checkedMesh(incoming) : host.exchange(incoming))
    : host.exchange
  const { port = 0, host: address, tls, http: { requestTimeout, keepAliveTimeout, unreadTimeout } = {} } = options
  return listen(logRequests(around(exchange), logger), {
    port,
    ...defined({ host: address, tls, requestTimeout, keepAliveTimeout, unreadTimeout }),
    onError: (error) => logger.error({ error: loggedError(error) }, 'a request failed unexpectedly'),
    asksCertificate,
    challenge: host.challenge,
    grpc: host.grpc && logGrpcRequests(host.grpc, logger),
    load,
    ...defined({ maxConnections: load?.connections }),
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
  { options, logger, recorder }: RecordedSettings,
  listening: Listening,
): Promise<MeshEndpoint | undefined> {
  const { mesh, telemetry, publicUrl = listening.url } = options
  if (!mesh) return undefined
  const { openMeshEndpoint } = await import('../mesh/bridge/endpoint.ts')
  const context = { url: publicUrl.replace(/\/+$/, ''), logger, onEnvelope: recorder?.envelope }
  return await openMeshEndpoint(agent, { telemetry, ...mesh }, context)
}

/** Names this process among the replicas, in what operators see. */
function processName(): string {
  return `${hostname()}-${process.pid}-${randomBytes(2).toString('hex')}`
}

function firstPathOf(agents: Agents): string {
  return (Object.keys(agents)[0] ?? '').replace(/\/+$/, '')
}
