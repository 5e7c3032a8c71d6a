import type { ClientDialect } from '../dialect.ts'
import { decodeCard } from './decode-card.ts'
import { decodeEvent, decodeResult } from './decode-result.ts'
import { encodeRequest } from './encode-request.ts'
import { methods } from './methods.ts'
import { restAsking } from './rest-asking.ts'

export const v0_3Client: ClientDialect = {
  name: 'v0.3',
  version: '0.3',
  bindings: ['JSONRPC', 'HTTP+JSON'],
  methods,
  encodeRequest,
  decodeResult,
  decodeEvent,
  rest: restAsking,
  decodeCard,
}
