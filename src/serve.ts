import { join } from 'node:path'
import type { Agent } from './agent/agent.ts'
import { consoleLogger, type Logger } from './base/logger.ts'
import type { Exchange } from './http/exchange.ts'
import { isLoopback } from './http/origin.ts'
import type { MeshEndpoint, MeshEndpointOptions } from './mesh-bridge/endpoint.ts'
import { type Listening, listen } from './node/listen.ts'
import { createServerLoad, type OverloadOptions, type ServerLoad } from './node/server-load.ts'
import { socketsAt } from './node/websocket-upgrade.ts'
import type { PushOptions } from './push/options.ts'
import type { AddOptions, Agents, ServeOptions, ServePushOptions, Server } from './serve-options.ts'
import { type AuthChoice, requireAuthOption } from './server/authentication.ts'
import { slug } from './server/card.ts'
import type { GrpcKit } from './server/grpc-router.ts'
import { createHost } from './server/host.ts'
import type { HostedAgent } from './server/hosted-agent.ts'
import { createSqliteLog } from './stores/sqlite/sqlite-log.ts'
import type { TaskLog } from './tasks/log.ts'

/** How long callers may take to read how their turns ended, in milliseconds, before they are cut off. */
const readingTime = 2_000

/**
 * Serves an agent, or several by their paths, over HTTP. Each has a durable task log of its own, in the file
 * `.parley/<name>.db` unless told otherwise.
 */
export async function serve(served: Agent | Agents, options: ServeOptions = {}): Promise<Server> {
  const { directory = '.parley', drainDeadline = 10_000, signals = true, logger = consoleLogger, publicUrl } = options
  const agents = isAgent(served) ? { '': served } : served
  requireOwnLogs(agents, options)
  const { mesh } = options
  if (mesh && Object.keys(agents).length > 1) throw new TypeError('serve(): only one agent can be a peer of the mesh.')
  const auth = admitted(options)
  const asksCertificate = options.tls !== undefined && needsCertificate(auth)
  const push = options.push && (await readPush(options.push, logger))
  const draining = new AbortController()
  const load = options.overload === false ? undefined : loadOf(options.overload, logger)
  const host = createHost(options.grpc ? { grpc: { ...(await loadGrpc()), draining: draining.signal, load } } : {})
  /** Those that we have opened, to be closed by us. */
  const logs = new Map<HostedAgent, TaskLog>()
  let first: HostedAgent | undefined
  let desk: MeshEndpoint | undefined
  const exchange: Exchange = mesh
    ? (incoming) => (incoming.path === desk?.path ? desk.exchange(incoming) : host.exchange(incoming))
    : host.exchange

  function add(agent: Agent, place: AddOptions): HostedAgent {
    const { log: _, push: __, ...shared } = { ...options, auth }
    if (needsCertificate(place.auth ?? auth) && !asksCertificate) {
      throw new TypeError('serve(): a scheme asks for certificates: give `tls` to serve, and the scheme in its `auth`.')
    }
    const own = place.log ? undefined : createSqliteLog({ file: join(directory, fileOf(agent, place)) })
    try {
      const resident = host.add(agent, {
        ...shared,
        load,
        ...(push && { push }),
        logger,
        ...place,
        // Who says nothing of it, in whichever way, does not let everybody in.
        auth: place.auth ?? auth,
        ...(own && { log: own }),
      })
      if (own) logs.set(resident, own)
      return resident
    } catch (error) {
      void own?.close()
      throw error
    }
  }

  async function closeLogs(): Promise<void> {
    await Promise.all([...logs.values()].map((log) => log.close()))
    logs.clear()
  }

  async function open(): Promise<Listening> {
    const { log } = options
    for (const [at, agent] of Object.entries(agents)) {
      const resident = add(agent, log ? { at, log } : { at })
      first ??= resident
    }
    return await listen(exchange, {
      port: 0,
      ...options,
      asksCertificate,
      challenge: host.challenge,
      grpc: host.grpc,
      load,
      ...(load && { maxConnections: load.connections }),
      upgrade: mesh?.sockets && socketsAt(mesh.path ?? '/mesh', mesh.sockets, (socket) => desk?.accept(socket)),
    })
  }

  /** Its card names its address, so it opens when the port is known. */
  async function openMesh(options: MeshEndpointOptions, { url }: Listening): Promise<MeshEndpoint | undefined> {
    const { openMeshDesk } = await import('./mesh-bridge/endpoint.ts')
    return first && (await openMeshDesk(first, options, { url: (publicUrl ?? url).replace(/\/+$/, ''), logger }))
  }

  async function abandon(error: unknown): Promise<never> {
    load?.stop()
    await host.drain(0)
    await closeLogs()
    throw error
  }

  const listening = await open().catch(abandon)
  if (mesh) {
    desk = await openMesh({ telemetry: options.telemetry, ...mesh }, listening).catch(async (error) => {
      await listening.close({ deadline: 0 })
      return await abandon(error)
    })
  }
  let closing: Promise<void> | undefined

  async function close(): Promise<void> {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
    await desk?.leave()
    draining.abort()
    const drained = host.drain(drainDeadline).finally(() => desk?.close())
    await Promise.all([drained, listening.close({ deadline: readingTime, drained })])
    load?.stop()
    await closeLogs()
  }

  function onSignal(): void {
    closing ??= close().catch((error) => {
      logger.error({ error }, 'the server could not be closed cleanly')
      process.exitCode = 1
    })
  }
  if (signals) process.on('SIGTERM', onSignal).on('SIGINT', onSignal)

  return {
    url: listening.url,
    mesh: desk?.peer,
    cardUrl: `${listening.url}${pathOf(agents)}/.well-known/agent-card.json`,
    port: listening.port,
    push: first?.push,
    add: (agent, place = {}) => add(agent, place),
    erase: host.erase,
    async remove(resident) {
      await host.remove(resident, drainDeadline)
      await logs.get(resident)?.close()
      logs.delete(resident)
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

function isAgent(served: Agent | Agents): served is Agent {
  return typeof served.run === 'function'
}

/** What one agent has done is none of another one's business. */
function requireOwnLogs(agents: Agents, { log }: ServeOptions): void {
  const { length } = Object.keys(agents)
  if (length === 0) throw new TypeError('serve(): expected an agent, or several by their paths, got none')
  if (length > 1 && log)
    throw new TypeError('serve(): several agents need a log each: hand it to server.add(agent, { log })')
}

/** Who may call if nobody has said so: during development, whoever is on this machine. Others must be thought of. */
function admitted({ auth, host = '127.0.0.1', publicUrl, trustProxy }: ServeOptions): AuthChoice {
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
  // Behind a proxy, others are not on this machine.
  return { anonymous: { listAll: publicUrl === undefined && !trustProxy } }
}

function needsCertificate(auth: AuthChoice): boolean {
  const schemes = auth === 'none' ? {} : (auth.schemes ?? {})
  return Object.values(schemes).some((scheme) => scheme.needsCertificate)
}

/** Who hands in no `fetch` gets one that keeps out of private networks. Only those who push pay for it. */
async function readPush(options: ServePushOptions, logger: Logger): Promise<PushOptions> {
  const { schemes, allow, loopback, redirects, tls, resolve, ...rest } = options
  if (rest.fetch) return { ...rest, fetch: rest.fetch }
  const { createPushFetch } = await import('./node/guarded-fetch/push-fetch.ts')
  const { timeout } = rest
  const given = { schemes, allow, loopback, redirects, tls, resolve, timeout }
  return { ...rest, fetch: createPushFetch({ ...given, logger }) }
}

function loadOf(options: OverloadOptions = {}, logger: Logger): ServerLoad {
  const load = createServerLoad(options)
  load.watch((isOver, standing) => {
    if (isOver) logger.warn(standing, 'overloaded: calls get 503 for a while')
    else logger.info(standing, 'not overloaded any more')
  })
  return load
}

/** Only those who switch it on pay for it. */
async function loadGrpc(): Promise<GrpcKit> {
  const [{ createGrpc }, { tenantOf }] = await Promise.all([
    import('./transports/grpc/server.ts'),
    import('./transports/grpc/tenant.ts'),
  ])
  return { createGrpc, tenantOf }
}

/** The name of a file that no agent at another place has. */
function fileOf({ profile }: Agent, { at = '', name, tenant }: AddOptions): string {
  const path = at.replace(/^\/+|\/+$/g, '')
  const place = [name, path, tenant && `~${tenant}`].filter((part) => part).join('/')
  return place === '' ? `${slug(profile.name)}.db` : `${slug(profile.name)}@${encodeURIComponent(place)}.db`
}

/** Of the first agent. */
function pathOf(agents: Agents): string {
  return (Object.keys(agents)[0] ?? '').replace(/\/+$/, '')
}
