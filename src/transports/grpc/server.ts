import type { ServerDialect } from '../../dialects/dialect.ts'
import { v1_0 } from '../../dialects/v1.0/index.ts'
import { anonymous } from '../../protocol/model.ts'
import type { Service } from '../../protocol/service.ts'
import { type A2AOptions, a2aRpcs } from './a2a-rpcs.ts'
import { a2aServices } from './a2a-services.ts'
import { answerRpc, refusalHeaders } from './answer.ts'
import { healthRpcs } from './health.ts'
import { reflectionRpcs, reflectionServices } from './reflection.ts'
import { pathOf } from './registry.ts'
import type { GrpcExchange, Rpc } from './rpc.ts'
import { errorEncoder } from './rpc-status.ts'
import { StatusError } from './status.ts'
import { errorTrailers } from './trailers.ts'

export interface GrpcOptions {
  readonly service: Service
  /** Who is calling; nobody in particular by default. What it throws is the answer. */
  readonly principalOf?: A2AOptions['principalOf']
  /** Those of them that are spoken over gRPC get their service. */
  readonly dialects: readonly ServerDialect[]
  /** Bytes of a message. 10 MiB by default. */
  readonly bodyLimit?: number
  /** Aborts when the server takes no new work. Health tells it. */
  readonly draining?: AbortSignal
  /** Gets what must not be shown to a caller. */
  readonly onError: (error: unknown) => void
}

/** For what is not of A2A. */
const encodeError = errorEncoder(v1_0)

/** A2A over gRPC, with health and reflection beside it. This file costs time to load: do so when it is needed. */
export function createGrpc(options: GrpcOptions): GrpcExchange {
  const { service, principalOf = () => anonymous, dialects, bodyLimit = 10 * 2 ** 20, onError } = options
  const { draining = new AbortController().signal } = options
  const rpcs = new Map<string, Rpc>()
  const services: string[] = []
  for (const described of a2aServices) {
    const spoken = dialects.find(({ name }) => name === described.dialect)
    if (spoken === undefined) continue
    services.push(described.name)
    for (const [path, rpc] of a2aRpcs(described, spoken, { service, principalOf })) rpcs.set(path, rpc)
  }
  const listed = [...services, 'grpc.health.v1.Health', ...reflectionServices]
  const aside = [...healthRpcs({ encodeError, services, draining }), ...reflectionRpcs(encodeError, listed)]
  for (const rpc of aside) rpcs.set(pathOf(rpc.method), rpc)

  return async (incoming) => {
    const rpc = rpcs.get(incoming.path)
    if (rpc !== undefined) return await answerRpc(rpc, incoming, { messageLimit: bodyLimit, onError })
    const unknown = new StatusError('UNIMPLEMENTED', `There is no ${incoming.path} here, but ${listed.join(', ')}.`)
    return { headers: refusalHeaders, trailers: errorTrailers(unknown, encodeError) }
  }
}
