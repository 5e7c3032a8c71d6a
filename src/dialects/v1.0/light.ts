import { loaded } from '../../protocol/loaded.ts'
import type { ClientDialect } from '../dialect.ts'
import { encodeRequest } from './encode-request.ts'
import { methods } from './methods.ts'
import { plainReading } from './plain.ts'
import { restAsking } from './rest-asking.ts'

/** All of 1.0 for a client, of which what reads unusual answers is loaded with the first of them. */
export const v1_0Light: ClientDialect = {
  name: 'v1.0',
  version: '1.0',
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  methods,
  encodeRequest,
  ...plainReading,
  lenient: async () => (await loaded('read the answer', import('./whole.ts'), 'unread')).wholeReading,
  rest: restAsking,
}
