import { systemClock } from '../base/clock.ts'
import { clientDialects } from '../dialects/client-dialects.ts'
import type { Binding, ClientDialect, FollowedAgent } from '../dialects/dialect.ts'
import { type Endpoint, type EndpointOptions, endpointsOf } from '../dialects/endpoints.ts'
import type { DialectName } from '../dialects/versions.ts'
import type { Fetch } from '../http/fetch.ts'
import { createLocalRequest } from '../http/local-request.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { SkillMap } from '../protocol/extensions/typed-skills.ts'
import type { Service } from '../protocol/service.ts'
import { createJsonRpcClient } from '../transports/jsonrpc/client.ts'
import { createRestClient } from '../transports/rest/client.ts'
import { createEndpointFailover } from './choose-endpoint.ts'
import { type Client, createClient } from './client.ts'
import { authorizing } from './credentials/authorize.ts'
import { byCard } from './credentials/by-card.ts'
import { createConnectionTrace } from './diagnostics/connection-trace.ts'
import { diagnoseFailure } from './diagnostics/diagnose.ts'
import { type CardInfo, findCard, isLocal, verifyCard } from './find-card.ts'
import type { ConnectOptions, Local, Notice, Target, Transport } from './options.ts'
import { endWithTask } from './resilience/end-with-task.ts'
import { createPeerCapabilities, createResilientService } from './resilience/resilient-service.ts'

/**
 * Fetches the card of an agent, picks a protocol version and a transport, and returns a client for the agent. With
 * `connect<typeof myAgent>(…)`, or the types that `skillTypesOf(card)` has generated, the client knows the input and output
 * types of the agent's skills.
 *
 * @example
 * const reporter = await connect('https://reports.example.com')
 * const { text } = await reporter.send('Sales of the first quarter')
 */
export const connect: Connect = (target: Target, options: ConnectOptions = {}) =>
  // The types of the skills exist for the compiler only.
  openClient(target, options) as Promise<Client<never>>

/** The skill types of an agent, by the type of the agent or by the types themselves. */
export type SkillsOf<A> = A extends { readonly skillTypes?: infer Skills extends SkillMap }
  ? Skills
  : A extends SkillMap
    ? A
    : SkillMap

export interface Connect {
  <A extends Local>(target: A, options?: ConnectOptions): Promise<Client<SkillsOf<A>>>
  <A = unknown>(target: Target, options?: ConnectOptions): Promise<Client<SkillsOf<A>>>
}

async function openClient(target: Target, options: ConnectOptions): Promise<Client> {
  requireKnown(options)
  const { onNotice, timeout = 60_000, clock = systemClock, peerDeduplicates } = options
  const authorize = authorizeOf(options)
  const trace = createConnectionTrace()
  const notify = (notice: Notice) => {
    if (notice.type === 'polling') trace.add({ type: 'fallback', detail: notice.message })
    onNotice?.(notice)
  }
  let cardInfo: CardInfo | undefined
  const diagnoseError = (error: unknown) =>
    diagnoseFailure(error, { ...cardInfo, hasCredentials: authorize !== undefined })
  const withCredentials = (plain: Fetch) => (authorize ? authorizing(plain, authorize, () => cardInfo?.card) : plain)
  const plainFetch = fetchOf(target, options)
  const fetch = withCredentials(plainFetch)
  try {
    cardInfo = await findCard(target, { ...options, authorize, fetch, trace, clock })
    const { card } = cardInfo
    const onCard = (extended: AgentCard) => {
      cardInfo = { ...cardInfo, card: extended }
    }
    const transports = transportsOf(options)
    const endpointOptions = endpointOptionsOf(cardInfo, transports, options)
    const [first = noCommonInterface(), ...others] = endpointsOf(card, endpointOptions)
    const endpoints = [first, ...others] as const
    const variants = new Map<string, ClientDialect>()
    const namedOrigins = new Set(endpoints.map(({ url }) => new URL(url).origin))
    const follow: FollowedAgent['follow'] = (open, options) => endWithTask(open, { ...options, clock })
    const open = async (opened: Endpoint): Promise<Service> => {
      const { binding, url, dialect, tenant } = opened
      const loaded = await dialect.load()
      const variant = loaded.servers?.forServer({ ...options, binding, headers: cardInfo?.headers }) ?? loaded
      variants.set(keyOf(opened), variant)
      const transport = transportFor(binding, transports)
      const reaching = transport.fetch ?? plainFetch
      const plain = options.verifyCard ? withoutRedirects(reaching) : reaching
      const service = transport.open({
        ...options,
        // Credentials go only to servers that the card names.
        fetch: namedOrigins.has(new URL(url).origin) ? withCredentials(plain) : plain,
        url,
        dialect: variant,
        onVariant: (learned) => variants.set(keyOf(opened), learned),
        tenant,
        verifyExtendedCard: options.verifyCard && ((wire) => verifyCard(wire, url, options.verifyCard)),
      })
      const mayStream = card.capabilities.streaming === true
      const agent = { headers: cardInfo?.headers, mayStream, follow }
      return variant.adaptService?.(service, agent) ?? service
    }
    const { service: wire, endpoint } = createEndpointFailover({
      card,
      endpoints,
      endpointOptions,
      isVerified: options.verifyCard !== undefined,
      open,
      trace,
      notify,
    })
    const peer = createPeerCapabilities({
      card: () => cardInfo?.card ?? card,
      endpoint,
      deduplicates: peerDeduplicates,
    })
    const service = createResilientService({ ...options, wire, peer, timeout, notify, clock, diagnose: diagnoseError })
    const explain = () => {
      const current = endpoint()
      return trace.explain(current, current && variants.get(keyOf(current)))
    }
    return createClient({
      card: () => cardInfo?.card ?? card,
      onCard,
      service: options.watch?.(service, card) ?? service,
      explain,
      timeout,
      clock,
    })
  } catch (error) {
    throw diagnoseError(error)
  }
}

/** Only the endpoints that a verified card names are called, so redirects are not followed. */
function withoutRedirects(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, { ...init, redirect: 'manual' })
    const { status, type } = response
    // Browsers hide the status of a redirect.
    if (type !== 'opaqueredirect' && (status < 300 || status > 399)) return response
    await response.body?.cancel()
    const problem = `${url} redirects, which is not followed: the card is verified.`
    throw new A2AError('unavailable', problem, { reason: 'not-followed', url: `${url}` })
  }
}

function keyOf({ binding, url, dialect, tenant }: Endpoint): string {
  return JSON.stringify([binding, url, dialect.name, tenant])
}

function authorizeOf({ auth, authorize, fetch = globalThis.fetch }: ConnectOptions) {
  return authorize ?? (auth && byCard(auth, (url, init) => fetch(url, init)))
}

function fetchOf(target: Target, { fetch = globalThis.fetch }: ConnectOptions): Fetch {
  if (!isLocal(target)) return (url, init) => fetch(url, init)
  return (url, init) => target.fetch(createLocalRequest(url, init))
}

/** A transport without a `fetch` uses the one of the client. */
type ClientTransport = Pick<Transport, 'binding' | 'open'> & Partial<Transport>

/** The transports that need only `fetch`; gRPC needs more and is passed in. */
const httpTransports: readonly ClientTransport[] = [
  { binding: 'JSONRPC', open: createJsonRpcClient },
  { binding: 'HTTP+JSON', open: createRestClient },
]

function transportsOf({ bindings }: ConnectOptions): readonly ClientTransport[] {
  return (
    bindings?.flatMap((transport) =>
      typeof transport === 'object' ? [transport] : httpTransports.filter(({ binding }) => binding === transport),
    ) ?? httpTransports
  )
}

function transportFor(binding: Binding, transports: readonly ClientTransport[]): ClientTransport {
  return transports.find((transport) => transport.binding === binding) ?? noCommonInterface()
}

function endpointOptionsOf(
  cardInfo: CardInfo,
  transports: readonly ClientTransport[],
  options: ConnectOptions,
): EndpointOptions {
  const isNamed = (name: DialectName | undefined) => !options.dialects || (name && options.dialects.includes(name))
  return {
    ...cardInfo,
    dialects: clientDialects.filter(({ name, profile }) => isNamed(name) || isNamed(profile)),
    bindings: transports.map(({ binding }) => binding),
    addressOf: (binding, address) =>
      transportFor(binding, transports).addressOf?.(address, cardInfo.cardUrl) ?? address,
  }
}

function noCommonInterface(): never {
  const problem = 'The card names no interface that this client can use.'
  throw new A2AError('unsupported-operation', problem, { reason: 'no-common-interface' })
}

/** The names of all options of `connect`. */
export const optionNames = [
  'fetch',
  'auth',
  'authorize',
  'onNotice',
  'timeout',
  'retry',
  'resume',
  'polling',
  'peerDeduplicates',
  'dialects',
  'bindings',
  'extensions',
  'fileBytes',
  'cardCache',
  'verifyCard',
  'watch',
  'signal',
  'answerLimit',
  'eventLimit',
  'jsonDepth',
  'idle',
  'openWithin',
  'clock',
] as const satisfies readonly (keyof ConnectOptions)[]

/** Checks the names alone: the values are checked on Node, since those checks would be 1.3 kB of a page. */
function requireKnown(options: ConnectOptions): void {
  const names: readonly string[] = optionNames
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown) throw new TypeError(`connect: ${unknown} is not an option. The options are ${names.join(', ')}.`)
}
