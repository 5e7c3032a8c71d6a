import type { DescMethod } from '@bufbuild/protobuf'
import { isStream, type ServerDialect } from '../../dialects/dialect.ts'
import { versionNotSupported } from '../../dialects/negotiate.ts'
import type { Incoming } from '../../http/exchange.ts'
import type { Operation } from '../../protocol/service.ts'
import { generationOf } from '../numbered.ts'
import { openStream, operate, type Received } from '../operate.ts'
import type { WireOptions } from '../options.ts'
import { namingExtensions, resumePointOf, versionOf } from '../service-parameters.ts'
import { WireCall } from '../wire-call.ts'
import type { A2AService } from './a2a-services.ts'
import { methodNamed, serviceNamed } from './registry.ts'
import type { ReadRequest, Rpc } from './rpc.ts'
import { errorEncoder } from './rpc-status.ts'

export type A2AOptions = Pick<WireOptions, 'service' | 'principalOf' | 'originOf'>

/** The methods of an A2A service by their paths. */
export function a2aRpcs(
  { name, versions, statuses }: A2AService,
  dialect: ServerDialect,
  { service, principalOf, originOf }: A2AOptions,
): ReadonlyMap<string, Rpc> {
  const encodeError = errorEncoder(dialect, statuses)

  /** Only those who are admitted have their message read. */
  async function receive<O extends Operation>(
    operation: O,
    read: ReadRequest,
    incoming: Incoming,
  ): Promise<Received<O>> {
    const version = versionOf(incoming)
    if (version !== undefined && !versions.includes(version)) {
      throw versionNotSupported(`${name} does not speak A2A ${version}`, { dialects: [dialect] })
    }
    const call = new WireCall(incoming, await principalOf(incoming), { originOf })
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
          const result = await operate(service, received)
          reply.headers = namingExtensions(reply.headers, received.call, dialect)
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
        const { request, events, spell } = openStream(service, received, { after: resumePointOf(incoming) })
        for await (const event of events) {
          reply.headers = namingExtensions(reply.headers, received.call, dialect)
          const wires = dialect.encodeEvent(spell ? spell(event) : event, request)
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
