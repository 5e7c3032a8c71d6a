import { defined } from '../base/json.ts'
import { serverDialects } from '../dialects/server-dialects.ts'
import type { Load } from '../http/load.ts'
import { originOf } from '../http/origin.ts'
import { anonymous } from '../protocol/model.ts'
import type { GrpcExchange, GrpcIncoming, Metadata } from '../transports/grpc/rpc.ts'
import type { GrpcOptions } from '../transports/grpc/server.ts'
import { statusCodes } from '../transports/grpc/status.ts'
import type { TenantCall } from '../transports/grpc/tenant.ts'
import { withWireDefaults } from '../transports/server/options.ts'
import { interfacesAt } from './card.ts'
import type { HostedAgent } from './hosted-agent.ts'
import type { Mount } from './mount.ts'
import { unknownTenantService } from './tenants.ts'

/** The gRPC code that a host needs. It is slow to load, so it is passed in where gRPC is enabled. */
export interface GrpcModule {
  readonly createGrpc: (options: GrpcOptions) => GrpcExchange
  readonly tenantOf: (incoming: GrpcIncoming, limit: number) => Promise<TenantCall>
  /** Aborts when the server takes no new work. */
  readonly draining?: AbortSignal
  /** Load of the server. */
  readonly load?: Load | undefined
}

/** Routes gRPC calls to agents by tenant and host name: gRPC has no paths. */
export interface GrpcRouter {
  readonly exchange: GrpcExchange
  /** Replaces the mounts that calls are routed to. */
  refreshRoutes(mounts: readonly Mount[]): void
}

export function createGrpcRouter({ createGrpc, tenantOf, draining, load }: GrpcModule): GrpcRouter {
  let routes: readonly GrpcRoute[] = []
  let bodyLimit = 0
  const unknownTenant = createGrpc({
    service: unknownTenantService,
    // No agent is behind it that could require credentials.
    authenticate: () => anonymous,
    dialects: serverDialects({}),
    onError: () => {},
    load,
    ...defined({ draining }),
  })

  function exchangeFor(agent: HostedAgent): GrpcExchange {
    const { options, authenticate, onError, onRejected, rateHeaders, hostCheck, metrics, isReady, signer } = agent
    const dialects = serverDialects(options)
    const exchange = createGrpc({
      ...options,
      service: agent.service,
      tenant: options.grpcTenant,
      authenticate,
      dialects,
      originOf: (incoming) => originOf(incoming, options),
      async publicCard(incoming) {
        const origin = originOf(incoming, options)
        const card = { ...agent.card, interfaces: interfacesAt(origin, dialects, options) }
        return signer ? await signer.signCard(card, origin) : card
      },
      onError,
      onRejected,
      hostCheck,
      isReady,
      ...defined({ metadataFor: rateHeaders, draining }),
    })
    return metrics ? countAnswers(exchange, metrics.answeredGrpc) : exchange
  }

  async function route(incoming: GrpcIncoming) {
    const { tenant, incoming: buffered } = await tenantOf(incoming, bodyLimit)
    const hostName = incoming.header('host')?.replace(/:\d+$/, '').toLowerCase()
    const candidates = routes.filter((route) => route.tenant === tenant)
    const match = candidates.find(({ name }) => name === hostName) ?? candidates.find(({ name }) => name === undefined)
    return await (match?.exchange ?? unknownTenant)(buffered)
  }

  return {
    exchange(incoming) {
      const [first, ...others] = routes
      const isOnly = first && others.length === 0 && first.name === undefined && first.tenant === undefined
      return isOnly ? first.exchange(incoming) : route(incoming)
    },
    refreshRoutes(mounts) {
      routes = mounts.flatMap(({ name, agents }) =>
        Array.from(agents, (agent) => {
          const existing = routes.find((route) => route.agent === agent)
          return existing ?? { name, tenant: agent.options.grpcTenant, agent, exchange: exchangeFor(agent) }
        }),
      )
      bodyLimit = Math.max(0, ...routes.map(({ agent }) => withWireDefaults(agent.options).bodyLimit))
    },
  }
}

/** Called when a gRPC call has been answered, with its method and the name of its status. */
export type OnAnswered = (method: string, status: string) => void

interface GrpcRoute {
  /** Host name. Undefined for all. */
  readonly name: string | undefined
  /** The tenant that callers name. */
  readonly tenant: string | undefined
  readonly agent: HostedAgent
  readonly exchange: GrpcExchange
}

/** Counts every answered call. A stream is one call, answered when it ends. */
function countAnswers(exchange: GrpcExchange, onAnswered: OnAnswered): GrpcExchange {
  return async (incoming) => {
    const outgoing = await exchange(incoming)
    const count = (trailers: Metadata | undefined) => {
      const status = statusNames.get(trailers?.['grpc-status'] ?? '') ?? 'CANCELLED'
      const method = incoming.path.slice(incoming.path.lastIndexOf('/') + 1)
      // Callers can make up any number of unknown methods; they count as one.
      onAnswered(status === 'UNIMPLEMENTED' ? 'other' : method, status)
    }
    if ('rest' in outgoing) return { ...outgoing, rest: countAtEnd(outgoing.rest, count) }
    count(outgoing.trailers)
    return outgoing
  }
}

const statusNames = new Map<string, string>(Object.entries(statusCodes).map(([name, code]) => [`${code}`, name]))

/** A stream that its reader leaves early has no trailers: the caller has canceled it. */
async function* countAtEnd(
  rest: AsyncGenerator<Uint8Array, Metadata>,
  count: (trailers: Metadata | undefined) => void,
): AsyncGenerator<Uint8Array, Metadata> {
  let trailers: Metadata | undefined
  try {
    trailers = yield* rest
    return trailers
  } finally {
    count(trailers)
  }
}
