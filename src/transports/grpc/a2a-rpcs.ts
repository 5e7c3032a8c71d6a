import type { DescMethod } from '@bufbuild/protobuf'
import { isStream, type ServerDialect } from '../../dialects/dialect.ts'
import { versionNotSupported } from '../../dialects/negotiate.ts'
import type { Incoming } from '../../http/exchange.ts'
import type { JsonObject, Principal } from '../../protocol/model.ts'
import type { Operation, Service } from '../../protocol/service.ts'
import { openStream, operate, type Received } from '../operate.ts'
import { idempotencyKeyOf, resumePointOf, versionOf } from '../service-parameters.ts'
import type { A2AService } from './a2a-services.ts'
import { methodNamed, serviceNamed } from './registry.ts'
import type { Rpc, RpcCall } from './rpc.ts'
import { errorEncoder } from './rpc-status.ts'

export interface A2AOptions {
  readonly service: Service
  /** Who is calling. What it throws is the answer. */
  readonly principalOf: (incoming: Incoming) => Principal | Promise<Principal>
}

/** The methods of an A2A service by their paths. */
export function a2aRpcs(
  { name, versions, statuses, makeExplicit = (request) => request }: A2AService,
  dialect: ServerDialect,
  { service, principalOf }: A2AOptions,
): ReadonlyMap<string, Rpc> {
  const encodeError = errorEncoder(dialect, statuses)

  async function receive<O extends Operation>(operation: O, request: unknown, call: RpcCall): Promise<Received<O>> {
    const { incoming, signal } = call
    const version = versionOf(incoming)
    if (version !== undefined && !versions.includes(version)) {
      throw versionNotSupported(`${name} does not speak A2A ${version}`, { dialects: [dialect] })
    }
    const principal = await principalOf(incoming)
    const params = makeExplicit(request as JsonObject)
    return { dialect, operation, params, call: { principal, signal, idempotencyKey: idempotencyKeyOf(incoming) } }
  }

  function rpcOf(method: DescMethod, operation: Operation): Rpc {
    if (!isStream(operation)) {
      return {
        type: 'unary',
        method,
        encodeError,
        answer: async (request, call) => (await operate(service, await receive(operation, request, call))) ?? {},
      }
    }
    return {
      type: 'stream',
      method,
      encodeError,
      async *answer(asked, call) {
        const received = await receive(operation, asked, call)
        const { request, events } = openStream(service, received, resumePointOf(call.incoming))
        for await (const event of events) yield* dialect.encodeEvent(event, request)
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
