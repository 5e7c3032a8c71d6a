import type { ClientDialect } from '../dialect.ts'
import { decodeCard } from './decode-card.ts'
import { decodeEvent, decodeResult } from './decode-result.ts'
import { encodeRequest } from './encode-request.ts'
import { methods } from './methods.ts'
import { restAsking } from './rest-asking.ts'

export const v1_0Client: ClientDialect = {
  name: 'v1.0',
  version: '1.0',
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  methods,
  encodeRequest,
  decodeResult,
  decodeEvent,
  errors: () => import('../decode-error.ts'),
  rest: restAsking,
  decodeCard,
}
