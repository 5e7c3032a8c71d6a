import type { DescMethod } from '@bufbuild/protobuf'
import { isObject, type Json } from '../../base/json.ts'
import type { GrpcBinding, ServerDialect } from '../../dialects/dialect.ts'
import { claimedVersion, versionNotSupported } from '../../dialects/negotiate.ts'
import { v1_0 } from '../../dialects/v1.0/server.ts'
import type { Incoming } from '../../http/exchange.ts'
import type { HostCheck } from '../../http/host-check.ts'
import type { Load } from '../../http/load.ts'
import type { AgentCard } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
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
  withDialectHeaders,
} from '../server/call.ts'
import { createVariantChoice } from '../server/caller-dialect.ts'
import { type WireOptions, withWireDefaults } from '../server/options.ts'
import { type AnswerOptions, answerRpc, errorTrailers, refusalHeaders } from './answer-call.ts'
import { healthRpcs } from './health.ts'
import { methodNamed, pathOf, serviceNamed } from './proto-registry.ts'
import { reflectionRpcs, reflectionServices } from './reflection.ts'
import type { GrpcExchange, GrpcOutgoing, ReadRequest, Rpc } from './rpc.ts'
import { errorEncoder, StatusError } from './status.ts'

export interface GrpcOptions
  extends Pick<
    WireOptions,
    'service' | 'tenant' | 'authenticate' | 'originOf' | 'bodyLimit' | 'onError' | 'onRejected' | 'missingVersion'
  > {
  /** Each dialect with a gRPC binding gets its service. */
  readonly dialects: readonly ServerDialect[]
  /** Aborts when the server accepts no new work. Health checks then report NOT_SERVING. */
  readonly draining?: AbortSignal
  /** The load of the server. Health checks report NOT_SERVING while it is overloaded. */
  readonly load?: Load | undefined
  /** Whether the agent can use its store. Health checks report NOT_SERVING while it cannot. */
  readonly isReady?: (() => Promise<boolean>) | undefined
  readonly metadataFor?: AnswerOptions['metadataFor']
  /** Refuses calls for hosts that are not the agent's. The `:authority` of a call is its host. */
  readonly hostCheck?: HostCheck | undefined
  /** Returns the public card, for versions whose callers request it over gRPC. */
  readonly publicCard?: (incoming: Incoming) => AgentCard | Promise<AgentCard>
}

/** Serves A2A over gRPC, with health checks and reflection. Slow to load: import this file only when gRPC is enabled. */
export function createGrpc(options: GrpcOptions): GrpcExchange {
  const { dialects, draining = new AbortController().signal, load, isReady, onError, onRejected, hostCheck } = options
  const { bodyLimit } = withWireDefaults(options)
  const answerOptions: AnswerOptions = {
    messageLimit: bodyLimit,
    onError,
    onRejected,
    metadataFor: options.metadataFor,
  }
  const rpcs = new Map<string, Rpc>()
  const a2aNames: string[] = []
  for (const dialect of dialects) {
    if (!dialect.grpc || a2aNames.includes(dialect.grpc.service)) continue
    a2aNames.push(dialect.grpc.service)
    for (const [path, rpc] of a2aRpcs(dialect.grpc, dialect, options)) rpcs.set(path, rpc)
  }
  const serviceNames = [...a2aNames, 'grpc.health.v1.Health', ...reflectionServices]
  const health = healthRpcs({ encodeError, services: a2aNames, draining, load, isReady })
  const reflection = reflectionRpcs(encodeError, serviceNames)
  for (const rpc of [...health, ...reflection]) rpcs.set(pathOf(rpc.method), rpc)

  // Not async: every promise between a call and its answer costs time.
  return (incoming) => {
    const problem = hostCheck?.(incoming)
    if (problem !== undefined) {
      onRejected?.(new A2AError('forbidden', problem), incoming)
      return Promise.resolve(refused(new StatusError('PERMISSION_DENIED', problem)))
    }
    const rpc = rpcs.get(incoming.path)
    return rpc ? answerRpc(rpc, incoming, answerOptions) : Promise.resolve(unknownMethod(incoming))
  }

  function unknownMethod({ path }: Incoming): GrpcOutgoing {
    return refused(new StatusError('UNIMPLEMENTED', `There is no ${path} here, but ${serviceNames.join(', ')}.`))
  }

  function refused(error: StatusError): GrpcOutgoing {
    return { headers: refusalHeaders, trailers: errorTrailers(error, encodeError) }
  }
}

/** For health checks, reflection and unknown methods, which belong to no dialect. */
const encodeError = errorEncoder(v1_0)

type A2AOptions = Pick<
  GrpcOptions,
  'service' | 'dialects' | 'tenant' | 'authenticate' | 'originOf' | 'missingVersion' | 'publicCard'
>

/** Clients of a2a-go set a page size of 0 where they mean none. */
function withoutZeroPageSize(params: unknown): unknown {
  if (!isObject(params) || params.pageSize !== 0) return params
  const { pageSize: _, ...rest } = params
  return rest
}

function isCardRequest(wireRequest: WireRequest<Operation>): wireRequest is WireRequest<'getExtendedCard'> {
  return wireRequest.operation === 'getExtendedCard'
}

/** The methods of an A2A service by path. Of the dialects that share it, `dialect` is the one of calls without a version. */
function a2aRpcs(
  { service: name, hasPublicCard }: GrpcBinding,
  dialect: ServerDialect,
  { service, dialects, tenant, authenticate, originOf, missingVersion, publicCard }: A2AOptions,
): ReadonlyMap<string, Rpc> {
  const sharing = dialects.filter(({ grpc }) => grpc?.service === name)
  const encodeError = errorEncoder(dialect)
  const chooseVariant = createVariantChoice()

  /** Authenticates the caller before it reads the message. */
  async function readRequest<O extends Operation>(
    operation: O,
    read: ReadRequest,
    incoming: Incoming,
  ): Promise<WireRequest<O>> {
    const named = readVersion(incoming)
    const version = claimedVersion(named, { missingVersion })
    const spoken = version === undefined ? dialect : sharing.find(({ grpc }) => grpc?.versions.includes(version))
    if (!spoken) {
      const reason = named === undefined ? ', the version of calls that name none' : ''
      const [first = dialect, ...others] = sharing
      throw versionNotSupported(`${name} does not speak A2A ${version}${reason}`, { dialects: [first, ...others] })
    }
    const identified = authenticate(incoming)
    // Most principals are known without waiting.
    const principal = identified instanceof Promise ? await identified : identified
    const call = new WireCall(incoming, principal, { originOf, tenant })
    const params = withoutZeroPageSize(await read())
    return { dialect: chooseVariant(spoken, params, incoming, principal), operation, params, call }
  }

  /** In versions with one method for both cards, an agent without an extended card returns the public one. */
  async function cardOf(wireRequest: WireRequest<'getExtendedCard'>, incoming: Incoming): Promise<Json> {
    try {
      return await invokeOperation(service, wireRequest)
    } catch (error) {
      const isMissing = error instanceof A2AError && error.code === 'unsupported-operation'
      if (!isMissing || !publicCard) throw error
      return dialect.encodeResult.getExtendedCard(await publicCard(incoming), {})
    }
  }

  function createRpc(method: DescMethod, operation: Operation): Rpc {
    if (!isStream(operation)) {
      return {
        type: 'unary',
        method,
        encodeError,
        async answer(read, incoming, reply) {
          const wireRequest = await readRequest(operation, read, incoming)
          reply.target = { incoming, principal: wireRequest.call.principal }
          const result =
            hasPublicCard && isCardRequest(wireRequest)
              ? await cardOf(wireRequest, incoming)
              : await invokeOperation(service, wireRequest)
          reply.headers = withDialectHeaders(reply.headers, wireRequest.call, wireRequest.dialect)
          return result ?? {}
        },
      }
    }
    return {
      type: 'stream',
      method,
      encodeError,
      async *answer(read, incoming, reply) {
        const wireRequest = await readRequest(operation, read, incoming)
        reply.target = { incoming, principal: wireRequest.call.principal }
        const { request, events, adapt } = openStream(service, wireRequest, { after: readResumePoint(incoming) })
        for await (const event of events) {
          reply.headers = withDialectHeaders(reply.headers, wireRequest.call, wireRequest.dialect)
          const adapted = adapt ? adapt(event) : event
          const parts = 'type' in adapted ? [adapted] : adapted
          const messages = parts.flatMap((part) => wireRequest.dialect.encodeEvent(part, request))
          const last = messages.length - 1
          // If one event becomes several messages, the last one has its number: a reader resumes after all of them.
          for (const [n, json] of messages.entries()) {
            yield n === last ? { json, number: generationOf(event), follows: event.follows } : { json }
          }
        }
      },
    }
  }

  const descriptor = serviceNamed(name)
  const byPath = new Map<string, Rpc>()
  // A method may have several names, but `proto/` describes it under one.
  for (const [methodName, operation] of dialect.operations) {
    const method = methodNamed(descriptor, dialect.methods[operation] ?? methodName)
    byPath.set(`/${name}/${methodName}`, createRpc(method, operation))
  }
  return byPath
}
