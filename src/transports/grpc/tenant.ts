import { fromBinary } from '@bufbuild/protobuf'
import { withBody } from '../../http/exchange.ts'
import { readMessage } from './frames.ts'
import { registry } from './proto-registry.ts'
import type { GrpcIncoming } from './rpc.ts'

/** Bytes before a message. */
const frameHead = 5

/** A call that was looked at, and can still be answered. */
export interface Addressed {
  readonly tenant: string | undefined
  readonly incoming: GrpcIncoming
}

/**
 * For which tenant a call is: by its metadata, which every version can have, or by its message, if that has a place for
 * it. What cannot be read is left to whoever answers, to be refused.
 */
export async function tenantOf(incoming: GrpcIncoming, limit: number): Promise<Addressed> {
  const named = incoming.header('a2a-tenant')
  const input = inputOf(incoming.path)
  if (named !== undefined || input?.field.tenant === undefined) return { tenant: named, incoming }
  const read: GrpcIncoming = Object.assign(withBody(incoming, incoming.bytes(limit + frameHead)), {
    chunks: () => incoming.chunks(),
  })
  try {
    const message = fromBinary(input, await readMessage(read, limit))
    const tenant = 'tenant' in message ? message.tenant : undefined
    return { tenant: typeof tenant === 'string' && tenant !== '' ? tenant : undefined, incoming: read }
  } catch {
    return { tenant: undefined, incoming: read }
  }
}

function inputOf(path: string) {
  const [, service = '', method = ''] = path.split('/')
  return registry.getService(service)?.methods.find(({ name }) => name === method)?.input
}
