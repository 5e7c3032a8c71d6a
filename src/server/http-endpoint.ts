import type { KeyRing } from '../auth/key-ring.ts'
import type { DialectSet } from '../dialects/negotiate.ts'
import { encodeCardAs } from '../dialects/served-card.ts'
import { type DialectOptions, serverDialects, serverDialectsForHouse } from '../dialects/server-dialects.ts'
import { type Cors, withCors } from '../http/cors.ts'
import type { Exchange, Incoming, Outgoing } from '../http/exchange.ts'
import { retryAfterOverload } from '../http/load.ts'
import { type OriginOptions, originOf } from '../http/origin.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import { createJsonRpc } from '../transports/jsonrpc/server.ts'
import { createRest } from '../transports/rest/server.ts'
import { WireCall } from '../transports/server/call.ts'
import { refusalHeaders } from '../transports/server/errors.ts'
import type { EnvelopeOptions, WireLimits, WireOptions } from '../transports/server/options.ts'
import { type AddressOptions, type InterfaceOptions, interfacesAt } from './card.ts'
import { type CardFormat, type CardSigner, cardPaths, createCardPage, createJwksPage, jwksPath } from './card-page.ts'
import { jsonAnswer, problem } from './http-answers.ts'
import { type MetricsPage, metricsPath } from './metrics-page.ts'
import { type Counts, withRateHeaders } from './rate-limits.ts'

/** Where 0.2 has the extended card, beside the agent's URL; later dialects have an operation for it. */
const extendedCardPath = '/agent/authenticatedExtendedCard'

/** What is behind a face. */
export interface EndpointBackend extends Pick<WireOptions, 'service' | 'principalOf' | 'recall' | 'onError'> {
  /** The card, but for where the agent is found. */
  readonly card: Omit<AgentCard, 'interfaces'>
  readonly isDraining: () => boolean
  readonly isOverloaded?: () => boolean
  readonly signer?: CardSigner | undefined
  /** What was counted for requests, if there are limits. */
  readonly counts?: Counts
  readonly metrics?: MetricsPage | undefined
}

export interface HttpEndpointOptions
  extends WireLimits,
    EnvelopeOptions,
    OriginOptions,
    DialectOptions,
    InterfaceOptions,
    Pick<DialectSet, 'missingVersion'> {
  /** Whether cards also say what older dialects read (`hybrid`, the default), or only what one version has. */
  readonly cards?: CardFormat
  /**
   * Whose pages may call the agent from a browser: those of these origins, or all (`true`). Nobody's by default, also
   * not for its card: an agent may be one of a network that its pages reach and their authors do not.
   */
  readonly cors?: Cors
  /** The keys with which cards and pushed events are signed; the public ones are at `/.well-known/jwks.json`. */
  readonly keys?: Pick<KeyRing, 'current' | 'published'>
}

/** The HTTP face of a service: JSON-RPC and REST in every dialect, cards, health. */
export function createHttpEndpoint(behind: EndpointBackend, options: HttpEndpointOptions & AddressOptions): Exchange {
  const { path = '/', housePath = '/api/a2a' } = options
  const atOrigin: NonNullable<WireOptions['originOf']> = (incoming) => originOf(incoming, options)
  const { card, signer, counts, metrics, ...wire } = { ...options, ...behind, originOf: atOrigin }
  const dialects = serverDialects(options)
  const answerRpc = createJsonRpc({ ...wire, dialects })
  const answerHouse = createJsonRpc({ ...wire, dialects: serverDialectsForHouse(options) })
  const answerRest = createRest({ ...wire, dialects })
  const answerCard = createCardPage((origin) => ({ ...card, interfaces: interfacesAt(origin, dialects, options) }), {
    ...options,
    signer,
  })
  const answerKeys = options.keys && createJwksPage(options.keys)
  const hintFor = ({ base }: Incoming) =>
    `JSON-RPC is at ${base}${path}, REST beside it, and the agent describes itself at ${base}${cardPaths[0]}.`

  async function answerExtendedCard(incoming: Incoming): Promise<Outgoing> {
    const principal = await behind.principalOf(incoming)
    const extended = await behind.service.getExtendedCard({}, new WireCall(incoming, principal, wire))
    const plain = encodeCardAs('hybrid', extended)
    const told = signer ? await signer.signWire(plain, atOrigin(incoming)) : plain
    return jsonAnswer(200, told, { 'cache-control': 'private, no-store' })
  }

  async function answerOthers(incoming: Incoming): Promise<Outgoing> {
    const { method, path: asked } = incoming
    if (asked === path || asked === housePath) {
      return problem(405, `POST JSON-RPC here. ${hintFor(incoming)}`, { allow: 'POST' })
    }
    const isKeys = answerKeys !== undefined && asked === jwksPath
    const isMetrics = metrics !== undefined && asked === metricsPath
    const isPage =
      isKeys || isMetrics || asked === '/healthz' || asked === extendedCardPath || cardPaths.includes(asked)
    if (isPage && method !== 'GET' && method !== 'HEAD') {
      return problem(405, 'This page can only be read.', { allow: 'GET, HEAD' })
    }
    if (asked === '/healthz') return answerHealth(behind)
    if (asked === extendedCardPath) return await orProblem(answerExtendedCard(incoming))
    if (isMetrics) return await orProblem(metrics.answer(incoming))
    if (isKeys) return await answerKeys(incoming)
    if (isPage) return await answerCard(incoming)
    const answer = await answerRest(incoming)
    return answer ?? problem(404, `There is nothing at this path. ${hintFor(incoming)}`)
  }

  function exchange(incoming: Incoming): Promise<Outgoing> {
    const { method, path: asked } = incoming
    if (method === 'POST' && asked === path) return answerRpc(incoming)
    if (method === 'POST' && asked === housePath) return answerHouse(incoming)
    return answerOthers(incoming)
  }
  const told = counts ? withRateHeaders(exchange, counts) : exchange
  const shared = options.cors ? withCors(told, options.cors, behind.onError) : told
  return metrics ? metrics.counting(shared) : shared
}

/** Whoever shares out requests sends none here while it is not `ok`. */
function answerHealth({ isDraining, isOverloaded }: EndpointBackend): Outgoing {
  if (isDraining()) return jsonAnswer(503, { status: 'draining' })
  if (isOverloaded?.()) return jsonAnswer(503, { status: 'overloaded' }, { 'retry-after': `${retryAfterOverload}` })
  return jsonAnswer(200, { status: 'ok' })
}

/** Pages for those who may see them. */
async function orProblem(page: Promise<Outgoing>): Promise<Outgoing> {
  try {
    return await page
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    return problem(pageStatus[error.code] ?? 404, error.message, refusalHeaders(error))
  }
}

/** Why it is not given; otherwise there is none. */
const pageStatus: Readonly<Partial<Record<ErrorCode, number>>> = {
  unauthenticated: 401,
  forbidden: 403,
  'rate-limited': 429,
  unavailable: 503,
}
