import type { ServerDialect } from '../../dialects/dialect.ts'
import { v1_0 } from '../../dialects/v1.0/index.ts'
import type { Incoming } from '../../http/exchange.ts'
import type { Load } from '../../http/load.ts'
import { limitsOf, type WireOptions } from '../options.ts'
import { a2aRpcs } from './a2a-rpcs.ts'
import { a2aServices } from './a2a-services.ts'
import { type AnswerOptions, answerRpc, refusalHeaders } from './answer.ts'
import { healthRpcs } from './health.ts'
import { reflectionRpcs, reflectionServices } from './reflection.ts'
import { pathOf } from './registry.ts'
import type { GrpcExchange, GrpcOutgoing, Rpc } from './rpc.ts'
import { errorEncoder } from './rpc-status.ts'
import { StatusError } from './status.ts'
import { errorTrailers } from './trailers.ts'

export interface GrpcOptions
  extends Pick<WireOptions, 'service' | 'principalOf' | 'originOf' | 'bodyLimit' | 'onError'> {
  /** Those of them that are spoken over gRPC get their service. */
  readonly dialects: readonly ServerDialect[]
  /** Aborts when the server takes no new work. Health tells it. */
  readonly draining?: AbortSignal
  /** What the server is doing. Health tells when it is too much. */
  readonly load?: Load | undefined
  readonly metadataFor?: AnswerOptions['metadataFor']
}

/** For what is not of A2A. */
const encodeError = errorEncoder(v1_0)

/** A2A over gRPC, with health and reflection beside it. This file costs time to load: do so when it is needed. */
export function createGrpc(options: GrpcOptions): GrpcExchange {
  const { dialects, draining = new AbortController().signal, load, onError } = options
  const { bodyLimit } = limitsOf(options)
  const answering: AnswerOptions = { messageLimit: bodyLimit, onError, metadataFor: options.metadataFor }
  const rpcs = new Map<string, Rpc>()
  const services: string[] = []
  for (const described of a2aServices) {
    const spoken = dialects.find(({ name }) => name === described.dialect)
    if (spoken === undefined) continue
    services.push(described.name)
    for (const [path, rpc] of a2aRpcs(described, spoken, options)) rpcs.set(path, rpc)
  }
  const listed = [...services, 'grpc.health.v1.Health', ...reflectionServices]
  const aside = [...healthRpcs({ encodeError, services, draining, load }), ...reflectionRpcs(encodeError, listed)]
  for (const rpc of aside) rpcs.set(pathOf(rpc.method), rpc)

  // Not async: every promise between a call and its answer counts.
  return (incoming) => {
    const rpc = rpcs.get(incoming.path)
    return rpc ? answerRpc(rpc, incoming, answering) : Promise.resolve(unknown(incoming))
  }

  function unknown({ path }: Incoming): GrpcOutgoing {
    const error = new StatusError('UNIMPLEMENTED', `There is no ${path} here, but ${listed.join(', ')}.`)
    return { headers: refusalHeaders, trailers: errorTrailers(error, encodeError) }
  }
}
