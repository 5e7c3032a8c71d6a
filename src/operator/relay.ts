import type { Logger } from '../core/base/logger.ts'
import type { Exchange, Incoming, Outgoing } from '../core/http/exchange.ts'
import { createHostCheck } from '../core/http/host-check.ts'
import { loggedError } from '../core/protocol/errors.ts'
import { anonymous } from '../core/protocol/model.ts'
import type { Service } from '../core/protocol/service.ts'
import { slug } from '../core/server/card.ts'
import { errorPage } from '../core/server/http-endpoint.ts'
import { createLoginLink, isSame, randomText } from './access.ts'
import type { ConsoleHosted, ConsoleMount } from './agents.ts'
import type { AgentChecks } from './checks.ts'
import { type ConsoleConnections, connectCallbackPath } from './connections.ts'
import { createConsole } from './console.ts'
import type { ConnectAnswer, ConnectRequest, RecentAgents } from './contract-tools.ts'
import { failureAnswer, notFound, OperatorFailure } from './failures.ts'
import type { ForeignAgent } from './foreign.ts'
import { consolePath } from './options.ts'
import type { ConsoleFiles } from './pages.ts'
import { createRemoteTasks } from './remote-log.ts'
import type { OperatorSession, Sessions } from './sessions.ts'
import { createWireLog, type WireAgent, type WireLog } from './wire-log.ts'

/** Agents of one relay. */
const maxAgents = 50

/** Milliseconds in which the operator can agree at another server. */
const agreeWithin = 10 * 60_000

/** An agent of another server, with a client that has the credentials for it. */
export interface ConnectedAgent {
  readonly foreign: ForeignAgent
  readonly service: Service
}

/** What a connection needs of the relay. */
export interface ConnectHooks {
  readonly wireLog: WireLog
  /** Names the agent in the wire log. */
  readonly agent: WireAgent
  /** Where the browser returns after the operator has agreed. */
  readonly redirectUri: string
  /** Sends the operator to the URL, and returns the one to which the browser came back. */
  readonly authorize: (url: string) => Promise<string>
}

/** Agents that were connected before. */
export interface RecentStore {
  list(): RecentAgents['recent']
  add(agent: RecentAgents['recent'][number]): void
}

export interface ConsoleRelayOptions {
  /** Finds the card of an agent, and connects to it. */
  readonly open: (request: ConnectRequest, hooks: ConnectHooks) => Promise<ConnectedAgent>
  readonly recent: RecentStore
  readonly checks: AgentChecks
  readonly files: ConsoleFiles
  readonly version: string
  readonly logger: Logger
  /** The URL at which the relay listens. Undefined before it does. */
  readonly address: () => string | undefined
}

export interface ConsoleRelay {
  readonly exchange: Exchange
  /** The path to open in a browser. Its token is valid once. */
  readonly path: string
  /** Adds an agent, as the form of the console does. */
  readonly connect: ConsoleConnections['connect']
}

/**
 * The console for agents of other servers. The browser talks to this process only, which calls the agents by their
 * clients: credentials never reach the browser. A one-time token in the first address begins the only session.
 */
export function createConsoleRelay(options: ConsoleRelayOptions): ConsoleRelay {
  const { files, version, logger, checks, address } = options
  const link = createLoginLink()
  const hostCheck = createHostCheck({ hosts: [] })
  const wireLog = createWireLog()
  const { connections, mounted } = createConnections(options, wireLog)
  const consoleExchange = createConsole({
    options: { auth: 'none', link },
    sessions: createRelaySessions(randomText()),
    mounted,
    files,
    logger,
    lines: { process: '', of: () => [] },
    checks,
    connections,
    wireLog,
    version,
    started: Date.now(),
    address,
  })
  return {
    path: link.path,
    connect: connections.connect,
    exchange: async (incoming) => {
      const { path } = incoming
      // A page of another host may lead its name to this machine.
      const problem = hostCheck?.(incoming)
      if (problem !== undefined) return errorPage(403, problem)
      if (path === '/') return { status: 303, headers: { location: `${consolePath}/` } }
      if (path === consolePath || path.startsWith(`${consolePath}/`)) return await consoleExchange(incoming)
      return { status: 404, headers: { 'content-type': 'text/plain' }, body: 'The console is at /console/.' }
    },
  }
}

/** The agents of a relay, by the addresses that the operator named. */
function createConnections({ open, recent, address, logger }: ConsoleRelayOptions, wireLog: WireLog) {
  const mounts = new Map<string, ConsoleMount & { readonly id: string }>()
  /** Connections that wait until the operator has agreed, by their state. */
  const waiting = new Map<string, (query: string) => Promise<ConnectAnswer>>()

  function freeId(name: string): string {
    const ids = new Set([...mounts.values()].map(({ id }) => id))
    const base = slug(name)
    for (let number = 1; ; number++) {
      const id = number === 1 ? base : `${base}-${number}`
      if (!ids.has(id)) return id
    }
  }

  async function connectTo(request: ConnectRequest, authorize: ConnectHooks['authorize']): Promise<ConnectAnswer> {
    if (mounts.size >= maxAgents && !mounts.has(request.url)) {
      throw new OperatorFailure(409, 'conflict', `This console has ${maxAgents} agents. Disconnect one first.`)
    }
    let id = mounts.get(request.url)?.id
    const agent: WireAgent = { id: () => id ?? request.url }
    const redirectUri = `${address() ?? 'http://127.0.0.1'}${consolePath}${connectCallbackPath}`
    const connected = await open(request, { wireLog, agent, redirectUri, authorize })
    const { card, violations } = connected.foreign
    id ??= freeId(card.name)
    mounts.set(request.url, { id, agent: relayedAgent(connected, logger), path: '', hostname: undefined })
    recent.add({ url: request.url, name: card.name })
    return { type: 'connected', agent: id, violations }
  }

  const connections: ConsoleConnections = {
    recent: () => ({ recent: recent.list() }),
    remove(id) {
      const [url] = [...mounts].find(([, mount]) => mount.id === id) ?? []
      if (url === undefined) throw notFound('There is no agent with this id.')
      mounts.delete(url)
    },
    async connect(request) {
      const agreement = Promise.withResolvers<ConnectAnswer>()
      const answer = connectTo(request, (url) => {
        const state = new URL(url).searchParams.get('state') ?? ''
        const returned = Promise.withResolvers<string>()
        const timer = setTimeout(() => {
          waiting.delete(state)
          returned.reject(
            new OperatorFailure(408, 'timeout', 'The other server did not send the browser back in time.'),
          )
        }, agreeWithin)
        waiting.set(state, (query) => {
          clearTimeout(timer)
          waiting.delete(state)
          returned.resolve(`${address()}${consolePath}${connectCallbackPath}?${query}`)
          return answer
        })
        agreement.resolve({ type: 'authorize', url })
        return returned.promise
      })
      // A failure after the browser has left is reported when it returns.
      answer.catch(() => {})
      return await Promise.race([answer, agreement.promise])
    },
    async finish(query) {
      const parameters = new URLSearchParams(query)
      const resume = waiting.get(parameters.get('state') ?? '')
      if (!resume) return returnTo('connect?problem=This+login+is+not+expected%2C+or+took+too+long.')
      try {
        const answer = await resume(query)
        return returnTo(answer.type === 'connected' ? `agents/${encodeURIComponent(answer.agent)}` : 'connect')
      } catch (error) {
        const problem = failureAnswer(error) && error instanceof Error ? error.message : 'The login failed.'
        return returnTo(`connect?${new URLSearchParams({ problem })}`)
      }
    },
  }
  return { connections, mounted: () => [...mounts.values()] }
}

/** A page that leads on: the cookie of the session is not sent with a redirect from another site. */
function returnTo(page: string): Outgoing {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    refresh: `0; url=${consolePath}/${page}`,
  }
  return { status: 200, headers, body: '<!doctype html><title>Parley</title><p>Back to the console…</p>' }
}

const cookieName = 'parley-relay'

function createRelaySessions(secret: string): Sessions {
  const session: OperatorSession = { role: 'operator', principal: anonymous, isOpen: true }
  const isOwn = ({ header }: Incoming) =>
    (header('cookie') ?? '').split(';').some((pair) => isSame(pair.trim(), `${cookieName}=${secret}`))
  return {
    async require(incoming) {
      if (isOwn(incoming)) return session
      const text =
        'Open the address that `parley console` has printed. It is valid once: start it again for another browser.'
      throw new OperatorFailure(401, 'unauthenticated', text, { schemes: [] })
    },
    login: async () => ({ session }),
    begin: async () => ({
      session,
      cookie: `${cookieName}=${secret}; Path=${consolePath}; HttpOnly; SameSite=Strict`,
    }),
    logout: async () => undefined,
  }
}

/** The agent as the console needs it: its operations go to its own server. */
function relayedAgent({ foreign, service: remote }: ConnectedAgent, logger: Logger): ConsoleHosted {
  const { interfaces: _, signatures: __, ...card } = foreign.card
  const { service, log, wait } = createRemoteTasks(remote)
  return {
    foreign,
    service,
    uncheckedService: service,
    card,
    options: { auth: 'none', publicUrl: foreign.url },
    log: { operator: log, wait },
    push: undefined,
    gauges: { runs: () => 0, queued: () => 0, webhooks: () => 0 },
    recovery: 'fail',
    authenticate: () => anonymous,
    lastDialect: async () => undefined,
    isDraining: () => false,
    isReady: async () => true,
    onError: (error) => logger.error({ error: loggedError(error) }, 'a request failed unexpectedly'),
  }
}
