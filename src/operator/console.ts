import { defined } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import { createMemoryOperatorState, type OperatorState } from '../core/base/operator-state.ts'
import type { Exchange, Incoming, Outgoing } from '../core/http/exchange.ts'
import { createHostCheck } from '../core/http/host-check.ts'
import { originOf } from '../core/http/origin.ts'
import { loggedError } from '../core/protocol/errors.ts'
import { object, optional, string } from '../core/schema/values.ts'
import { errorPage } from '../core/server/http-endpoint.ts'
import { createBrowserEndpoints } from './a2a.ts'
import { type ConsoleAccess, keyOperator, linkParameter } from './access.ts'
import {
  agentRoutes,
  type ConsoleAgents,
  type ConsoleHosted,
  type ConsoleMount,
  createConsoleAgents,
} from './agents.ts'
import { type AgentChecks, checkRoutes } from './checks.ts'
import { type ConsoleConnections, connectCallbackPath, connectionRoutes } from './connections.ts'
import { type Feature, operatorApiVersion, type Session } from './contract.ts'
import type { GatewayState } from './contract-tools.ts'
import { failureAnswer, jsonAnswer, notFound, OperatorFailure } from './failures.ts'
import { type ConsoleMesh, meshRoute } from './mesh.ts'
import { consolePath } from './options.ts'
import { overviewRoutes } from './overview.ts'
import { type ConsoleFiles, createPages } from './pages.ts'
import { createReceivers, type Receivers } from './receivers.ts'
import { type ConsoleRegistry, registryRoutes } from './registry.ts'
import { matchRoute, type Route, readBody } from './routes.ts'
import { inSession } from './session-streams.ts'
import { type CookieScope, createSessions, type OperatorSession, type Sessions } from './sessions.ts'
import type { ProcessLines } from './tasks/log-lines.ts'
import { taskRoutes } from './tasks/routes.ts'
import { usageRoutes } from './usage.ts'
import { webhookRoutes } from './webhook-routes.ts'
import { type WireRoutesOptions, wireRoutes } from './wire.ts'
import { createWireLog, type WireLog } from './wire-log.ts'

/** What a server hands to its console. */
export interface ConsoleSettings {
  readonly options: ConsoleAccess
  /** Defaults to sessions by `options`. */
  readonly sessions?: Sessions
  readonly mounted: () => readonly ConsoleMount[]
  readonly files: ConsoleFiles
  readonly logger: Logger
  /** The last log lines about tasks in the memory of this process. */
  readonly lines: ProcessLines
  readonly checks: AgentChecks
  /** If operators may connect to agents of other servers: never on a server that others can reach. */
  readonly connections?: ConsoleConnections | undefined
  /** Defaults to one of this console. */
  readonly wireLog?: WireLog
  /** If the server is a mesh peer. */
  readonly mesh?: ConsoleMesh | undefined
  /** If the server is a registry. */
  readonly registry?: ConsoleRegistry
  /** If the server is a gateway. */
  readonly gateway?: (() => GatewayState) | undefined
  /** Where operators share what is not about tasks. Defaults to the log of the first agent. */
  readonly state?: () => OperatorState
  /** The version of Parley. */
  readonly version: string
  /** When the server started, in milliseconds since 1970. */
  readonly started: number
  /** The URL at which the server listens. Undefined before it does. */
  readonly address?: (() => string | undefined) | undefined
  readonly publicUrl?: string | undefined
  readonly trustProxy?: boolean | undefined
  readonly hosts?: readonly string[] | 'any' | undefined
}

/** Serves the console: the application at `/console/`, its API at `/console/api/v1`, and the agents at `/console/a2a`. */
export function createConsole(settings: ConsoleSettings): Exchange {
  const { options, logger, publicUrl, trustProxy } = settings
  const agents = createConsoleAgents(settings.mounted)
  const state = settings.state ?? stateOf(agents)
  const sessions =
    settings.sessions ?? createSessions({ ...options, scopeOf, values: () => state().values, logger, trustProxy })
  const pages = createPages(settings.files)
  const { wireLog = createWireLog(), connections } = settings
  const answerA2A = createBrowserEndpoints({ agents, publicUrl, wireLog })
  const receivers = createReceivers({
    state,
    addressOf: (incoming) => `${urlOf(incoming).href.replace(/\/$/, '')}${consolePath}/receivers`,
  })
  const hostCheck = createHostCheck({ hosts: hostsOf(settings), publicUrl })
  const routes = operatorRoutes({ ...settings, agents, receivers, state, answer: answerA2A, wireLog })

  function urlOf(incoming: Incoming): URL {
    return new URL(originOf(incoming, { publicUrl, trustProxy }))
  }

  /** The path of the server, as browsers see it, without a slash at its end. */
  function prefixOf(incoming: Incoming): string {
    return urlOf(incoming).pathname.replace(/\/$/, '')
  }

  function scopeOf(incoming: Incoming): CookieScope {
    const { protocol, port } = urlOf(incoming)
    const name = `parley-console${port && `-${port}`}`
    return { name, path: `${prefixOf(incoming)}${consolePath}`, isSecure: protocol === 'https:' }
  }

  /** The redirect removes the token from the address bar. */
  async function answerLink(incoming: Incoming, token: string): Promise<Outgoing> {
    const begun = options.link?.take(token) ? await sessions.begin(incoming, keyOperator) : undefined
    const location = `${prefixOf(incoming)}${consolePath}/`
    return { status: 303, headers: defined({ location, 'cache-control': 'no-store', 'set-cookie': begun?.cookie }) }
  }

  function sessionInfo({ role, principal, isOpen, expires }: OperatorSession): Session {
    const { id, tenant } = principal
    const features = featuresOf(
      agents.all().map(({ agent }) => agent),
      settings,
    )
    return defined({
      role,
      principal: isOpen ? undefined : defined({ id, tenant }),
      expires,
      server: { version: settings.version, started: settings.started, features },
    })
  }

  async function answerSession(incoming: Incoming): Promise<Outgoing> {
    if (incoming.method === 'POST') {
      const login = await readBody({ incoming }, loginSchema, maxLogin)
      const { session, cookie } = await sessions.login(incoming, login)
      return jsonAnswer(sessionInfo(session), 200, cookie === undefined ? {} : { 'set-cookie': cookie })
    }
    if (incoming.method === 'DELETE') {
      const cookie = await sessions.logout(incoming)
      return {
        status: 204,
        headers: defined({ 'cache-control': 'no-store', 'set-cookie': cookie }),
      }
    }
    return jsonAnswer(sessionInfo(await sessions.require(incoming)))
  }

  async function answerApi(incoming: Incoming, path: string): Promise<Outgoing> {
    requireOwnPage(incoming, urlOf(incoming).host)
    requireConsoleHeader(incoming)
    const version = `/${operatorApiVersion}`
    if (!path.startsWith(`${version}/`)) throw notFound(`This server has version ${operatorApiVersion} of the API.`)
    const operation = path.slice(version.length)
    if (operation === '/session') return await answerSession(incoming)
    return await inSession(sessions, incoming, async (request, session) => {
      const { route, params } = matchRoute(routes, request.method, operation)
      if (route.role === 'operator' && session.role !== 'operator') {
        throw new OperatorFailure(403, 'forbidden', 'Viewers can read, but not change anything.')
      }
      return await route.handle({ incoming: request, session, query: new URLSearchParams(request.query) }, ...params)
    })
  }

  async function orFailure(incoming: Incoming, answer: () => Promise<Outgoing>): Promise<Outgoing> {
    try {
      return await answer()
    } catch (error) {
      const failure = failureAnswer(error)
      if (!failure && !incoming.signal.aborted) {
        logger.error({ path: incoming.path, error: loggedError(error) }, 'a request of the console failed unexpectedly')
      }
      return failure ?? jsonAnswer({ error: { code: 'internal', message: 'internal error' } }, 500)
    }
  }

  return async (incoming) => {
    // Deliveries come from an agent, and their token identifies the receiver.
    if (incoming.path.startsWith(`${consolePath}/receivers/`)) return await receivers.receive(incoming)
    const problem = hostCheck?.(incoming)
    if (problem !== undefined) return errorPage(403, problem)
    const rest = incoming.path.slice(consolePath.length)
    if (rest === '') return { status: 303, headers: { location: `${prefixOf(incoming)}${consolePath}/` } }
    if (rest.startsWith('/api/')) return await orFailure(incoming, () => answerApi(incoming, rest.slice('/api'.length)))
    if (rest.startsWith('/a2a/')) {
      return await orFailure(incoming, async () => {
        requireOwnPage(incoming, urlOf(incoming).host)
        return await inSession(sessions, incoming, answerA2A)
      })
    }
    // The browser comes back from another site, without the cookie of the session. Its state identifies the connection.
    if (connections && rest === connectCallbackPath && incoming.method === 'GET') {
      return await connections.finish(incoming.query)
    }
    const token = new URLSearchParams(incoming.query).get(linkParameter)
    if (rest === '/' && token !== null && incoming.method === 'GET') {
      return await orFailure(incoming, () => answerLink(incoming, token))
    }
    return await pages(incoming, prefixOf(incoming))
  }
}

/**
 * The names under which a console of this machine is opened: a page of another host may lead its name to this machine.
 * A console without login never answers to any name.
 */
function hostsOf({ options, hosts }: ConsoleSettings): readonly string[] | 'any' {
  const isLocal = options.auth === 'none' || options.link !== undefined
  if (hosts === 'any' && options.auth === 'none') return []
  return hosts ?? (isLocal ? [] : 'any')
}

/** What operators share beside tasks is in the log of the first agent, or in memory if its log has no place for it. */
function stateOf(agents: ConsoleAgents): () => OperatorState {
  const memory = createMemoryOperatorState()
  return () => agents.all().find(({ agent }) => agent.log.operator)?.agent.log.operator ?? memory
}

/** What the routes of the API need. */
export interface OperatorRoutesOptions
  extends Pick<ConsoleSettings, 'lines' | 'checks' | 'address' | 'mesh' | 'registry' | 'gateway' | 'connections'>,
    WireRoutesOptions {
  readonly receivers: Pick<Receivers, 'routes'>
  readonly state: () => OperatorState
}

/** All operations of the API but those about the session. */
export function operatorRoutes(options: OperatorRoutesOptions): readonly Route[] {
  const { agents, receivers, mesh, registry, gateway, connections, state } = options
  return [
    ...agentRoutes(agents),
    ...taskRoutes(options),
    ...overviewRoutes(agents),
    ...usageRoutes(agents),
    ...webhookRoutes(agents),
    ...receivers.routes,
    ...wireRoutes(options),
    ...checkRoutes(options),
    ...(mesh ? [meshRoute(mesh, state)] : []),
    ...(registry ? registryRoutes(registry) : []),
    ...(gateway ? [gatewayRoute(gateway)] : []),
    ...(connections ? connectionRoutes(connections) : []),
  ]
}

function gatewayRoute(state: () => GatewayState): Route {
  return { method: 'GET', path: '/gateway', role: 'viewer', handle: async () => jsonAnswer(state()) }
}

/**
 * Rejects changes that a page of another origin may have caused: browsers name the origin of every request that changes
 * something.
 */
function requireOwnPage({ method, header }: Incoming, ownHost: string): void {
  if (!isChange(method)) return
  const origin = header('origin')
  const site = header('sec-fetch-site')
  const isForeign =
    (site !== undefined && site !== 'same-origin' && site !== 'none') ||
    (origin !== undefined && !(URL.canParse(origin) && [header('host'), ownHost].includes(new URL(origin).host)))
  if (isForeign) throw new OperatorFailure(403, 'forbidden', 'Pages of other origins may not call the console.')
}

/** Pages of other origins cannot send the header without a preflight request, which is not answered. */
function requireConsoleHeader({ method, header }: Incoming): void {
  if (!isChange(method) || header('x-parley-console') !== undefined) return
  throw new OperatorFailure(403, 'forbidden', 'Send the header x-parley-console: 1 with every change.')
}

function isChange(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

function featuresOf(
  agents: readonly ConsoleHosted[],
  {
    checks,
    mesh,
    registry,
    gateway,
    connections,
  }: Pick<ConsoleSettings, 'checks' | 'mesh' | 'registry' | 'gateway' | 'connections'>,
): readonly Feature[] {
  return [
    ...(agents.some(({ log }) => log.operator) ? (['history'] as const) : []),
    // The figures of an agent of another server are not known.
    ...(agents.some(({ log, foreign }) => log.operator && !foreign) ? (['overview'] as const) : []),
    ...(agents.some(({ push }) => push) ? (['webhooks', 'receiver'] as const) : []),
    ...(checks.doctor ? (['doctor'] as const) : []),
    ...(checks.conformance ? (['conformance'] as const) : []),
    ...(agents.some(({ options }) => options.grpc) ? (['grpc'] as const) : []),
    ...(mesh ? (['mesh'] as const) : []),
    ...(registry ? (['registry'] as const) : []),
    ...(gateway ? (['gateway'] as const) : []),
    ...(connections ? (['connect'] as const) : []),
  ]
}

/** Bytes of a login. Its sender is not known yet. */
const maxLogin = 64 * 1024

const loginSchema = object({
  scheme: string({ max: 200 }),
  user: optional(string({ max: 1_000 })),
  secret: optional(string({ max: 16 * 1024 })),
})
