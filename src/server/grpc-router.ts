import { serverDialects } from '../dialects/server-dialects.ts'
import type { Load } from '../http/load.ts'
import { originOf } from '../http/origin.ts'
import { anonymous } from '../protocol/model.ts'
import type { GrpcExchange, GrpcIncoming, Metadata } from '../transports/grpc/rpc.ts'
import type { GrpcOptions } from '../transports/grpc/server.ts'
import { statusCodes } from '../transports/grpc/status.ts'
import type { Addressed } from '../transports/grpc/tenant.ts'
import { limitsOf } from '../transports/server/options.ts'
import type { HostedAgent } from './hosted-agent.ts'
import type { Mount } from './mount.ts'
import { rateHeaders } from './rate-limits.ts'
import { tenantService } from './tenants.ts'

/** What of gRPC a host needs. It costs time to load, so it is handed in by those who want it. */
export interface GrpcKit {
  readonly createGrpc: (options: GrpcOptions) => GrpcExchange
  readonly tenantOf: (incoming: GrpcIncoming, limit: number) => Promise<Addressed>
  /** Aborts when the server takes no new work. */
  readonly draining?: AbortSignal
  /** What the server is doing. */
  readonly load?: Load | undefined
}

/** Where calls of gRPC, which have no paths, find the agent that they are for. */
export interface GrpcRouter {
  readonly exchange: GrpcExchange
  /** These are the sites from now on. */
  settle(sites: readonly Mount[]): void
}

export function createGrpcRouter({ createGrpc, tenantOf, draining, load }: GrpcKit): GrpcRouter {
  let extensions: readonly GrpcRoute[] = []
  let bodyLimit = 0
  const nobody = createGrpc({
    service: tenantService(() => undefined),
    // There is nothing to be let in to.
    principalOf: () => anonymous,
    dialects: serverDialects({}),
    onError: () => {},
    load,
    ...(draining && { draining }),
  })

  function open(resident: HostedAgent): GrpcExchange {
    const { options, service, principalOf, onError, counts, metrics } = resident
    const { dialledAs } = options
    const exchange = createGrpc({
      ...options,
      service: tenantService((asked) => (asked === undefined || asked === dialledAs ? service : undefined)),
      principalOf,
      dialects: serverDialects(options),
      originOf: (incoming) => originOf(incoming, options),
      onError,
      ...(counts && { metadataFor: (incoming) => rateHeaders(counts, incoming) }),
      ...(draining && { draining }),
    })
    return metrics ? countingGrpc(exchange, metrics.answeredGrpc) : exchange
  }

  async function connect(incoming: GrpcIncoming) {
    const { tenant, incoming: read } = await tenantOf(incoming, bodyLimit)
    const name = incoming.header('host')?.replace(/:\d+$/, '').toLowerCase()
    const meant = extensions.filter((each) => each.tenant === tenant)
    const found = meant.find((each) => each.name === name) ?? meant.find((each) => each.name === undefined)
    return await (found?.exchange ?? nobody)(read)
  }

  return {
    exchange(incoming) {
      const [first, ...others] = extensions
      if (first && others.length === 0 && first.name === undefined && first.tenant === undefined) {
        return first.exchange(incoming)
      }
      return connect(incoming)
    },
    settle(sites) {
      extensions = sites.flatMap(({ name, residents }) =>
        Array.from(residents, (resident) => {
          const known = extensions.find((each) => each.resident === resident)
          return known ?? { name, tenant: resident.options.dialledAs, resident, exchange: open(resident) }
        }),
      )
      bodyLimit = Math.max(0, ...extensions.map(({ resident }) => limitsOf(resident.options).bodyLimit))
    },
  }
}

/** Told how a call was answered, when it is: the method, and the name of the status. */
export type OnAnswered = (method: string, status: string) => void

interface GrpcRoute {
  /** Of the host. */
  readonly name: string | undefined
  /** The tenant that callers name. */
  readonly tenant: string | undefined
  readonly resident: HostedAgent
  readonly exchange: GrpcExchange
}

/** The same exchange, of which every call is counted. A stream is one call, answered at its end. */
function countingGrpc(exchange: GrpcExchange, onAnswered: OnAnswered): GrpcExchange {
  return async (incoming) => {
    const outgoing = await exchange(incoming)
    const answered = (trailers: Metadata | undefined) => {
      const status = names.get(trailers?.['grpc-status'] ?? '') ?? 'CANCELLED'
      // Methods that are not there are made up by callers.
      onAnswered(status === 'UNIMPLEMENTED' ? 'other' : incoming.path.slice(incoming.path.lastIndexOf('/') + 1), status)
    }
    if ('rest' in outgoing) return { ...outgoing, rest: counted(outgoing.rest, answered) }
    answered(outgoing.trailers)
    return outgoing
  }
}

const names = new Map<string, string>(Object.entries(statusCodes).map(([name, code]) => [`${code}`, name]))

/** Who leaves before the end has canceled the call. */
async function* counted(
  rest: AsyncGenerator<Uint8Array, Metadata>,
  answered: (trailers: Metadata | undefined) => void,
): AsyncGenerator<Uint8Array, Metadata> {
  let trailers: Metadata | undefined
  try {
    trailers = yield* rest
    return trailers
  } finally {
    answered(trailers)
  }
}
