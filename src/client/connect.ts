import { systemClock } from '../base/clock.ts'
import { clientDialects } from '../dialects/client-dialects.ts'
import type { Binding } from '../dialects/dialect.ts'
import { type Endpoint, endpointsOf } from '../dialects/endpoints.ts'
import type { Fetch } from '../http/fetch.ts'
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
import { diagnose } from './diagnostics/diagnose.ts'
import { type FoundCard, findCard, isLocal } from './find-card.ts'
import type { ConnectOptions, Local, Notice, Target, Transport } from './options.ts'
import { createPeerCapabilities } from './resilience/peer-capabilities.ts'
import { createResilientService } from './resilience/resilient-service.ts'
import { verified } from './verify-card.ts'

/**
 * Finds out what an agent speaks, and where, and gives a client that talks to it. With `connect<typeof myAgent>(…)`, or
 * the types that `skillTypesOf(card)` has written, the client knows what its skills take and give.
 */
export const connect: Connect = (target: Target, options: ConnectOptions = {}) =>
  // The types of the skills exist for the compiler only.
  openClient(target, options) as Promise<Client<never>>

/** The skills of an agent, by its type, or the types themselves. */
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
  const { onNotice, timeout = 60_000, clock = systemClock, verifyCard } = options
  const authorize = authorizeOf(options)
  const trace = createConnectionTrace()
  const notify = (notice: Notice) => {
    if (notice.type === 'polling') trace.add({ type: 'fallback', detail: notice.message })
    onNotice?.(notice)
  }
  let found: FoundCard | undefined
  const explained = (error: unknown) => diagnose(error, { ...found, hasCredentials: authorize !== undefined })
  const withCredentials = (plain: Fetch) => (authorize ? authorizing(plain, authorize, () => found?.card) : plain)
  const fetch = withCredentials(fetchOf(target, options))
  try {
    found = await findCard(target, { ...options, authorize, fetch, trace, clock })
    const { card, cardUrl } = found
    const transports = transportsOf(options)
    const transportOf = (binding: Binding) => transports.find((each) => each.binding === binding) ?? noCommonInterface()
    const among = {
      dialects: clientDialects.filter(({ name }) => options.dialects?.includes(name) ?? true),
      bindings: transports.map(({ binding }) => binding),
      addressOf: (binding: Binding, address: string) => transportOf(binding).addressOf?.(address, cardUrl) ?? address,
      ...found,
    }
    const [first = noCommonInterface(), ...others] = endpointsOf(card, among)
    const open = async ({ binding, url, dialect, tenant }: Endpoint): Promise<Service> => {
      const { open, fetch: own } = transportOf(binding)
      return open({
        ...options,
        fetch: own ? withCredentials(own) : fetch,
        url,
        dialect: await dialect.load(),
        tenant,
        believe: verifyCard && ((wire) => verified(wire, url, verifyCard)),
      })
    }
    const way = createEndpointFailover({
      card,
      doors: [first, ...others],
      options: among,
      open,
      journal: trace,
      notify,
    })
    const peer = createPeerCapabilities({ card, door: way.door, deduplicates: options.peerDeduplicates })
    const service = createResilientService({ ...options, wire: way, peer, timeout, notify, clock, diagnose: explained })
    const explain = () => trace.explain(way.door())
    return createClient({ card, service: options.watch?.(service, card) ?? service, explain })
  } catch (error) {
    throw explained(error)
  }
}

function authorizeOf({ auth, authorize, fetch = globalThis.fetch }: ConnectOptions) {
  return authorize ?? (auth && byCard(auth, (url, init) => fetch(url, init)))
}

function fetchOf(target: Target, { fetch = globalThis.fetch }: ConnectOptions): Fetch {
  if (!isLocal(target)) return (url, init) => fetch(url, init)
  // A local agent answers only requests with this member, which no wire can carry.
  return (url, init) => target.fetch(Object.assign(new Request(url, init), { local: 1 }))
}

/** A transport without a `fetch` uses the one of the client. */
type ClientTransport = Pick<Transport, 'binding' | 'open'> & Partial<Transport>

/** The transports that need nothing but `fetch`; gRPC needs more and is passed in. */
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

function noCommonInterface(): never {
  const problem = 'The card names no way to the agent that this client can go.'
  throw new A2AError('unsupported-operation', problem, { reason: 'no-common-interface' })
}
