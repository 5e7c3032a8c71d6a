import type { DescMethod } from '@bufbuild/protobuf'
import type { ServerDialect } from '../../dialects/dialect.ts'
import { versionNotSupported } from '../../dialects/negotiate.ts'
import { v1_0 } from '../../dialects/v1.0/server.ts'
import type { Incoming } from '../../http/exchange.ts'
import type { Load } from '../../http/load.ts'
import { isStream } from '../../protocol/intercept.ts'
import type { Operation } from '../../protocol/service.ts'
import { generationOf } from '../event-numbers.ts'
import {
  invokeOperation,
  openStream,
  readResumePoint,
  readVersion,
  WireCall,
  type WireRequest,
  withExtensionsHeader,
} from '../server/call.ts'
import { type WireOptions, withWireDefaults } from '../server/options.ts'
import { type AnswerOptions, answerRpc, errorTrailers, refusalHeaders } from './answer-call.ts'
import { healthRpcs } from './health.ts'
import { methodNamed, pathOf, serviceNamed } from './proto-registry.ts'
import { reflectionRpcs, reflectionServices } from './reflection.ts'
import type { GrpcExchange, GrpcOutgoing, ReadRequest, Rpc } from './rpc.ts'
import { type A2AService, a2aServices } from './services.ts'
import { errorEncoder, StatusError } from './status.ts'

/** For what is not of A2A. */
const encodeError = errorEncoder(v1_0)

export interface GrpcOptions
  extends Pick<WireOptions, 'service' | 'authenticate' | 'originOf' | 'bodyLimit' | 'onError'> {
  /** Those of them that are spoken over gRPC get their service. */
  readonly dialects: readonly ServerDialect[]
  /** Aborts when the server takes no new work. Health tells it. */
  readonly draining?: AbortSignal
  /** What the server is doing. Health tells when it is too much. */
  readonly load?: Load | undefined
  readonly metadataFor?: AnswerOptions['metadataFor']
}

/** A2A over gRPC, with health and reflection beside it. This file costs time to load: do so when it is needed. */
export function createGrpc(options: GrpcOptions): GrpcExchange {
  const { dialects, draining = new AbortController().signal, load, onError } = options
  const { bodyLimit } = withWireDefaults(options)
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

export type A2AOptions = Pick<WireOptions, 'service' | 'authenticate' | 'originOf'>

/** The methods of an A2A service by their paths. */
function a2aRpcs(
  { name, versions, statuses }: A2AService,
  dialect: ServerDialect,
  { service, authenticate, originOf }: A2AOptions,
): ReadonlyMap<string, Rpc> {
  const encodeError = errorEncoder(dialect, statuses)

  /** Only those who are admitted have their message read. */
  async function receive<O extends Operation>(
    operation: O,
    read: ReadRequest,
    incoming: Incoming,
  ): Promise<WireRequest<O>> {
    const version = readVersion(incoming)
    if (version !== undefined && !versions.includes(version)) {
      throw versionNotSupported(`${name} does not speak A2A ${version}`, { dialects: [dialect] })
    }
    const call = new WireCall(incoming, await authenticate(incoming), { originOf })
    return { dialect, operation, params: await read(), call }
  }

  function rpcOf(method: DescMethod, operation: Operation): Rpc {
    if (!isStream(operation)) {
      return {
        type: 'unary',
        method,
        encodeError,
        async answer(read, incoming, reply) {
          const received = await receive(operation, read, incoming)
          const result = await invokeOperation(service, received)
          reply.headers = withExtensionsHeader(reply.headers, received.call, dialect)
          return result ?? {}
        },
      }
    }
    return {
      type: 'stream',
      method,
      encodeError,
      async *answer(read, incoming, reply) {
        const received = await receive(operation, read, incoming)
        const { request, events, adapt } = openStream(service, received, { after: readResumePoint(incoming) })
        for await (const event of events) {
          reply.headers = withExtensionsHeader(reply.headers, received.call, dialect)
          const wires = dialect.encodeEvent(adapt ? adapt(event) : event, request)
          const last = wires.length - 1
          // Of several that one event became, the last carries its number: a reader resumes after the whole of it.
          for (const [n, json] of wires.entries()) {
            yield n === last ? { json, number: generationOf(event), follows: event.follows } : { json }
          }
        }
      },
    }
  }

  const described = serviceNamed(name)
  const byPath = new Map<string, Rpc>()
  // A method may be called by several names, but is described under one.
  for (const [called, operation] of dialect.operations) {
    const method = methodNamed(described, dialect.methods[operation] ?? called)
    byPath.set(`/${name}/${called}`, rpcOf(method, operation))
  }
  return byPath
}
