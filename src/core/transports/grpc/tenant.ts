import { fromBinary } from '@bufbuild/protobuf'
import { withBody } from '../../http/exchange.ts'
import { frameHeadLength, readMessage } from './frames.ts'
import { registry } from './proto-registry.ts'
import type { GrpcIncoming } from './rpc.ts'

/** A call whose tenant was read. `incoming` can still be answered. */
export interface TenantCall {
  readonly tenant: string | undefined
  readonly incoming: GrpcIncoming
}

/**
 * Reads the tenant of a call from its metadata, which every version can carry, or from its message if that has a
 * `tenant` field. An unreadable message has no tenant here; the service that answers the call rejects it.
 */
export async function tenantOf(incoming: GrpcIncoming, limit: number): Promise<TenantCall> {
  const named = incoming.header('a2a-tenant')
  const input = inputOf(incoming.path)
  if (named !== undefined || input?.field.tenant === undefined) return { tenant: named, incoming }
  const buffered: GrpcIncoming = Object.assign(withBody(incoming, incoming.bytes(limit + frameHeadLength)), {
    chunks: () => incoming.chunks(),
  })
  try {
    const message = fromBinary(input, await readMessage(buffered, limit))
    const tenant = 'tenant' in message ? message.tenant : undefined
    return { tenant: typeof tenant === 'string' && tenant !== '' ? tenant : undefined, incoming: buffered }
  } catch {
    return { tenant: undefined, incoming: buffered }
  }
}

function inputOf(path: string) {
  const [, service = '', method = ''] = path.split('/')
  return registry.getService(service)?.methods.find(({ name }) => name === method)?.input
}
