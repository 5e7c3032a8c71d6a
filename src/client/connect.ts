import { systemClock } from '../base/clock.ts'
import { allClients, readOlderCard } from '../dialects/client-dialects.ts'
import type { Binding, DialectInfo } from '../dialects/dialect.ts'
import { type Endpoint, endpointsOf } from '../dialects/endpoints.ts'
import type { ReadCard } from '../dialects/peer-card.ts'
import type { Fetch } from '../http/fetch.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import type { SkillMap } from '../protocol/extensions/typed-skills.ts'
import type { Service } from '../protocol/service.ts'
import { createJsonRpcClient } from '../transports/jsonrpc/client.ts'
import { createRestClient } from '../transports/rest/client.ts'
import { createEndpointFailover } from './choose-endpoint.ts'
import { type Client, createClient } from './client.ts'
import { createConnectionTrace } from './diagnostics/connection-trace.ts'
import { diagnose } from './diagnostics/diagnose.ts'
import { type FoundCard, findCard, isLocal } from './find-card.ts'
import type { ConnectOptions, Local, Notice, Target, Transport } from './options.ts'
import { createPeerCapabilities } from './resilience/peer-capabilities.ts'
import { createResilientService } from './resilience/resilient-service.ts'

/** What needs nothing but `fetch`; gRPC needs more. */
export const overHttp: Abilities['transports'] = [
  { binding: 'JSONRPC', open: createJsonRpcClient },
  { binding: 'HTTP+JSON', open: createRestClient },
]

/** Speaks every version of A2A. */
export const connect = /* @__PURE__ */ createConnect({ dialects: allClients, readOlderCard, transports: overHttp })

/** A transport, which goes by the `fetch` of the client if it has none of its own. */
export type Carrier = Pick<Transport, 'binding' | 'open'> & Partial<Transport>

/** What a client can speak, and over what. What is not in here is not in the bundle of its user either. */
export interface Abilities {
  /** In the order in which they are tried where nothing else decides. */
  readonly dialects: readonly [DialectInfo, ...DialectInfo[]]
  /** Reads the cards of versions before 1.0. */
  readonly readOlderCard?: ReadCard
  readonly transports: readonly Carrier[]
}

/** The skills of an agent, by its type, or the types themselves. */
export type SkillsOf<A> = A extends { readonly skillTypes?: infer Skills extends SkillMap }
  ? Skills
  : A extends SkillMap
    ? A
    : SkillMap

/**
 * Finds out what an agent speaks, and where, and gives a client that talks to it. With `connect<typeof myAgent>(…)`, or
 * the types that `skillTypesOf(card)` has written, the client knows what its skills take and give.
 */
export interface Connect {
  <A extends Local>(target: A, options?: ConnectOptions): Promise<Client<SkillsOf<A>>>
  <A = unknown>(target: Target, options?: ConnectOptions): Promise<Client<SkillsOf<A>>>
}

export function createConnect(abilities: Abilities): Connect {
  // What is known of its skills is known to the compiler alone.
  return (target: Target, options: ConnectOptions = {}) =>
    connectCreateConnect(abilities, target, options) as Promise<Client<never>>
}

async function connectCreateConnect(abilities: Abilities, target: Target, options: ConnectOptions): Promise<Client> {
  const { onNotice, timeout = 60_000, clock = systemClock, verifyCard } = options
  const credentials = await credentialsOf(options)
  const journal = createConnectionTrace()
  const notify = (notice: Notice) => {
    if (notice.type === 'polling') journal.add({ type: 'fallback', detail: notice.message })
    onNotice?.(notice)
  }
  let found: FoundCard | undefined
  const explained = (error: unknown) => diagnose(error, { ...found, hasCredentials: credentials !== undefined })
  const withCredentials = (plain: Fetch) => credentials?.carriedBy(plain, () => found?.card) ?? plain
  const fetch = withCredentials(fetchOf(target, options))
  try {
    const { dialects: readers, readOlderCard } = abilities
    const { authorize } = credentials ?? {}
    found = await findCard(target, { ...options, authorize, fetch, journal, clock, readers, readOlderCard })
    const { card, cardUrl } = found
    const transports = transportsOf(abilities, options)
    const carrierOf = (binding: Binding) => transports.find((each) => each.binding === binding) ?? noCommonDoor()
    const among = {
      dialects: readers.filter(({ name }) => options.dialects?.includes(name) ?? true),
      bindings: transports.map(({ binding }) => binding),
      addressOf: (binding: Binding, address: string) => carrierOf(binding).addressOf?.(address, cardUrl) ?? address,
      ...found,
    }
    const [first = noCommonDoor(), ...others] = endpointsOf(card, among)
    const open = async ({ binding, url, dialect, tenant }: Endpoint): Promise<Service> => {
      const { open, fetch: own } = carrierOf(binding)
      return open({
        ...options,
        fetch: own ? withCredentials(own) : fetch,
        url,
        dialect: await dialect.load(),
        tenant,
        believe: verifyCard && (async (wire) => (await import('./verify-card.ts')).verified(wire, url, verifyCard)),
      })
    }
    const way = createEndpointFailover({ card, doors: [first, ...others], options: among, open, journal, notify })
    const peer = createPeerCapabilities({ card, door: way.door, deduplicates: options.peerDeduplicates })
    const service = createResilientService({ ...options, wire: way, peer, timeout, notify, clock, diagnose: explained })
    const explain = () => journal.explain(way.door())
    return createClient({ card, service: options.watch?.(service, card) ?? service, explain })
  } catch (error) {
    throw await explained(error)
  }
}

/** Loaded for those who have credentials. */
async function credentialsOf({ auth, authorize, fetch = globalThis.fetch }: ConnectOptions) {
  if (!authorize && !auth) return undefined
  const { authorizing, byCard } = await import('./credentials/carried.ts')
  const given = authorize ?? byCard(auth ?? [], (url, init) => fetch(url, init))
  const carriedBy = (plain: Fetch, card: () => AgentCard | undefined) => authorizing(plain, given, card)
  return { authorize: given, carriedBy }
}

function fetchOf(target: Target, { fetch = globalThis.fetch }: ConnectOptions): Fetch {
  if (!isLocal(target)) return (url, init) => fetch(url, init)
  // Agents answer only what says so, and no wire carries it.
  return (url, init) => target.fetch(Object.assign(new Request(url, init), { local: 1 }))
}

/** Those of the caller, by their names or handed in; all of ours by default. */
function transportsOf({ transports }: Abilities, { bindings }: ConnectOptions): readonly Carrier[] {
  const handedIn = (each: Binding | Transport) =>
    typeof each === 'object' ? [each] : transports.filter(({ binding }) => binding === each)
  return bindings?.flatMap(handedIn) ?? transports
}

function noCommonDoor(): never {
  const problem = 'The card names no way to the agent that this client can go.'
  throw new A2AError('unsupported-operation', problem, { reason: 'no-common-door' })
}
