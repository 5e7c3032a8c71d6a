import { createJsonRpcClient } from '../transports/jsonrpc/client.ts'
import { createRestClient } from '../transports/rest/client.ts'
import type { Abilities } from './create-connect.ts'

/** What needs nothing but `fetch`; gRPC needs more. */
export const overHttp: Abilities['transports'] = [
  { binding: 'JSONRPC', open: createJsonRpcClient },
  { binding: 'HTTP+JSON', open: createRestClient },
]
