import type { KeyRing } from '../auth/key-ring.ts'
import { defined } from '../base/json.ts'
import type { DialectSet } from '../dialects/negotiate.ts'
import { type CardFormat, canBeSigned, encodeCardAs } from '../dialects/served-card.ts'
import { type DialectOptions, serverDialects, serverDialectsForHouse } from '../dialects/server-dialects.ts'
import { type Cors, withCors } from '../http/cors.ts'
import type { Exchange, Incoming, Outgoing } from '../http/exchange.ts'
import type { HostCheck } from '../http/host-check.ts'
import { retryAfterOverload } from '../http/load.ts'
import { type OriginOptions, originOf } from '../http/origin.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import { createJsonRpc, type JsonRpcHandler } from '../transports/jsonrpc/server.ts'
import { createRest } from '../transports/rest/server.ts'
import { errorHeaders, readVersion, WireCall } from '../transports/server/call.ts'
import type { EnvelopeOptions, WireLimits, WireOptions } from '../transports/server/options.ts'
import type { Authentication } from './authentication.ts'
import { type AddressOptions, type InterfaceOptions, interfacesAt } from './card.ts'
import {
  type CardSigner,
  cardPaths,
  createCardPage,
  createFormatChoice,
  createJwksPage,
  jwksPath,
} from './card-page.ts'
import { type MetricsPage, metricsPath } from './metrics-page.ts'
import type { IsReady } from './readiness.ts'

/** The agent that an endpoint serves. */
export interface EndpointBackend
  extends Pick<WireOptions, 'service' | 'authenticate' | 'lastDialect' | 'onError' | 'onRejected'> {
  /** The card without the addresses of the agent, which depend on the request. */
  readonly card: Omit<AgentCard, 'interfaces'>
  readonly isDraining: () => boolean
  readonly isOverloaded?: () => boolean
  /** Whether the store of the agent can be used. */
  readonly isReady: IsReady
  readonly signer?: CardSigner | undefined
  readonly rateHeaders?: Authentication['rateHeaders']
  readonly metrics?: MetricsPage | undefined
  /** Refuses requests for hosts, and from origins, that are not the agent's. */
  readonly hostCheck?: HostCheck | undefined
}

export interface HttpEndpointOptions
  extends WireLimits,
    EnvelopeOptions,
    OriginOptions,
    DialectOptions,
    InterfaceOptions,
    Pick<DialectSet, 'missingVersion'> {
  /** The form of the card, unless the caller names a version. Another form than `hybrid` is for all callers. */
  readonly cards?: CardFormat
  /** Whether the card is only for callers with credentials. */
  readonly cardAuth?: boolean
  /**
   * Origins of web pages that may call the agent from a browser, or `true` for all. Defaults to none, which also
   * protects the card: an agent may be in a network that the page's user can reach and its author cannot.
   */
  readonly cors?: Cors
  /** Keys that sign cards and pushed events. The public keys are served at `/.well-known/jwks.json`. */
  readonly keys?: Pick<KeyRing, 'current' | 'published'>
}

/** Serves an agent over HTTP: JSON-RPC and REST in every dialect, its card, its keys, its health and its metrics. */
export function createHttpEndpoint(backend: EndpointBackend, options: HttpEndpointOptions & AddressOptions): Exchange {
  const { path = '/', housePath = '/api/a2a', cors, keys } = options
  const { card, signer, rateHeaders, metrics, hostCheck, onError, onRejected } = backend
  const wire: Omit<WireOptions, 'dialects'> = {
    ...options,
    service: backend.service,
    authenticate: backend.authenticate,
    lastDialect: backend.lastDialect,
    onError,
    onRejected,
    originOf: (incoming) => originOf(incoming, options),
  }
  const dialects = serverDialects(options)
  // At a common path, 0.3 clients are house clients: the house dialect includes 0.3.
  const rpcByPath = new Map<string, JsonRpcHandler>([
    ...withAndWithoutSlash(path, createJsonRpc({ ...wire, dialects })),
    ...withAndWithoutSlash(housePath, createJsonRpc({ ...wire, dialects: serverDialectsForHouse(options) })),
  ])
  const morePaths = dialects.flatMap((dialect) => dialect.morePaths ?? []).map((end) => path.replace(/\/$/, '') + end)
  const answerRest = createRest({ ...wire, dialects })
  const pages = new Map<string, Page>()
  for (const [healthPath, page] of Object.entries(healthPages)) pages.set(healthPath, () => page([backend]))
  const chooseFormat = createFormatChoice(options, dialects)
  const cardPage = createCardPage({
    cardFor: (origin, shown) => ({ ...card, interfaces: interfacesAt(origin, dialects, { ...options, ...shown }) }),
    chooseFormat,
    signer,
    authenticate: options.cardAuth ? backend.authenticate : undefined,
    options,
  })
  for (const cardPath of cardPaths) pages.set(cardPath, (incoming) => orErrorPage(cardPage(incoming), incoming))
  const extendedPaths = dialects.flatMap(({ extendedCardPath }) =>
    extendedCardPath === undefined ? [] : pathsAround(path, extendedCardPath),
  )
  for (const extendedPath of extendedPaths) {
    pages.set(extendedPath, (incoming) => orErrorPage(extendedCardPage(incoming), incoming))
  }
  if (keys) pages.set(jwksPath, createJwksPage(keys))
  if (metrics) pages.set(metricsPath, (incoming) => orErrorPage(metrics.answer(incoming), incoming))

  async function extendedCardPage(incoming: Incoming): Promise<Outgoing> {
    const principal = await backend.authenticate(incoming)
    const extended = await backend.service.getExtendedCard({}, new WireCall(incoming, principal, wire))
    const format = chooseFormat(incoming.path, readVersion(incoming))
    const unsigned = encodeCardAs(format, extended)
    const isSigned = signer && canBeSigned(format)
    const body = isSigned ? await signer.signWire(unsigned, originOf(incoming, options)) : unsigned
    return jsonPage(200, body, { 'cache-control': 'private, no-store' })
  }

  /** For pages that need credentials. */
  async function orErrorPage(page: Promise<Outgoing>, incoming: Incoming): Promise<Outgoing> {
    try {
      return await page
    } catch (error) {
      if (!(error instanceof A2AError)) throw error
      onRejected?.(error, incoming)
      return errorPage(pageStatus[error.code] ?? 404, error.message, errorHeaders(error))
    }
  }

  /** Everything but JSON-RPC. */
  async function answerOther(incoming: Incoming): Promise<Outgoing> {
    if (rpcByPath.has(incoming.path)) {
      return { ...errorPage(405, `POST JSON-RPC here. ${hintFor(incoming)}`, { allow: 'POST' }), isUnrouted: true }
    }
    const page = pages.get(incoming.path)
    if (!page) return (await answerRest(incoming)) ?? notFound(incoming)
    if (incoming.method === 'GET' || incoming.method === 'HEAD') return await page(incoming)
    return errorPage(405, 'This page can only be read.', { allow: 'GET, HEAD' })
  }

  function notFound(incoming: Incoming): Outgoing {
    return { ...errorPage(404, `There is nothing at this path. ${hintFor(incoming)}`), isUnrouted: true }
  }

  function hintFor({ base }: Incoming): string {
    return `JSON-RPC is at ${`${base}${path}` || '/'}, REST beside it, and the agent describes itself at ${base}${cardPaths[0]}.`
  }

  function rpcFor(requested: string): JsonRpcHandler | undefined {
    return rpcByPath.get(requested) ?? (morePaths.includes(requested) ? rpcByPath.get(path) : undefined)
  }

  // Not async: the promise of the transport is handed on without waiting for it.
  let exchange: Exchange = (incoming) => {
    const answerRpc = incoming.method === 'POST' ? rpcFor(incoming.path) : undefined
    return answerRpc ? answerRpc(incoming) : answerOther(incoming)
  }
  if (rateHeaders) exchange = withHeaders(exchange, rateHeaders)
  if (cors) exchange = withCors(exchange, cors, onError)
  if (hostCheck) exchange = withHostCheck(exchange, hostCheck, onRejected)
  return metrics ? metrics.counting(exchange) : exchange
}

/** An HTTP error in the form that A2A 1.0 gives to errors over HTTP (§11.6). */
export function errorPage(code: number, message: string, headers?: Headers): Outgoing {
  return jsonPage(code, { error: { code, status: statusNames[code], message } }, headers)
}

/** Answers only requests that the check accepts. */
export function withHostCheck(exchange: Exchange, check: HostCheck, onRejected?: WireOptions['onRejected']): Exchange {
  // Not async: the promise of the exchange is handed on without waiting for it.
  return (incoming) => {
    const problem = check(incoming)
    if (problem === undefined) return exchange(incoming)
    onRejected?.(new A2AError('forbidden', problem), incoming)
    return Promise.resolve(errorPage(403, problem))
  }
}

/** A path that is only read. */
type Page = (incoming: Incoming) => Promise<Outgoing>

type Headers = Readonly<Record<string, string>>

const statusNames: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}

/** The paths of a page beside JSON-RPC, as 0.2 says, at the root and below JSON-RPC, where clients look for it. */
function pathsAround(path: string, page: string): readonly string[] {
  const bare = path.replace(/\/$/, '')
  const parent = bare.slice(0, Math.max(0, bare.lastIndexOf('/')))
  return [...new Set(['', parent, bare])].map((folder) => `${folder}${page}`)
}

/** Some clients append a slash to the address of the card, others remove one. */
function withAndWithoutSlash<T>(path: string, value: T): readonly (readonly [string, T])[] {
  const bare = path.replace(/\/$/, '')
  return [
    [bare || '/', value],
    [`${bare}/`, value],
  ]
}

function jsonPage(status: number, body: unknown, headers: Headers = {}): Outgoing {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

/** The agents that a health check is about. */
type HealthSubjects = readonly Pick<EndpointBackend, 'isDraining' | 'isOverloaded' | 'isReady'>[]

/** Health checks by their path: of one agent, or of a host with all its agents. */
export const healthPages: Readonly<Record<string, (agents: HealthSubjects) => Promise<Outgoing>>> = {
  '/livez': livePage,
  '/readyz': readyPage,
  '/healthz': readyPage,
}

/** Says that the process responds. A draining or overloaded process must not be restarted. */
async function livePage(): Promise<Outgoing> {
  return healthPage(200, 'ok')
}

/** Load balancers send no requests here while the status is not `ok`. */
async function readyPage(agents: HealthSubjects): Promise<Outgoing> {
  if (agents.some(({ isDraining }) => isDraining())) return healthPage(503, 'draining', retryAfterDrain)
  if (agents.some(({ isOverloaded }) => isOverloaded?.())) return healthPage(503, 'overloaded', retryAfterOverload)
  const ready = await Promise.all(agents.map(({ isReady }) => isReady()))
  return ready.every(Boolean) ? healthPage(200, 'ok') : healthPage(503, 'store-unavailable', 5)
}

/** Seconds after which another process may have taken the place of one that shuts down. */
const retryAfterDrain = 1

function healthPage(code: number, status: string, retryAfter?: number): Outgoing {
  const headers = defined({
    'cache-control': 'no-store',
    'retry-after': retryAfter === undefined ? undefined : `${retryAfter}`,
  })
  return jsonPage(code, { status }, headers)
}

/** For any other error there is no such page. */
const pageStatus: Readonly<Partial<Record<ErrorCode, number>>> = {
  unauthenticated: 401,
  forbidden: 403,
  'rate-limited': 429,
  unavailable: 503,
}

function withHeaders(exchange: Exchange, headersFor: (incoming: Incoming) => Headers | undefined): Exchange {
  return async (incoming) => {
    const outgoing = await exchange(incoming)
    const headers = headersFor(incoming)
    return headers ? { ...outgoing, headers: { ...outgoing.headers, ...headers } } : outgoing
  }
}
