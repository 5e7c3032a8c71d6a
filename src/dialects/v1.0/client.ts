import type { ClientDialect } from '../dialect.ts'
import * as carry from './carry.ts'
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
  async lenient() {
    const { lenientReading, cleanCard } = await import('./lenient.ts')
    return lenientReading({ decodeCard, decodeResult }, cleanCard, carry)
  },
  rest: restAsking,
  decodeCard,
}
