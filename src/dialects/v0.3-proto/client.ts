import type { ClientDialect } from '../dialect.ts'
import { carried, carrying } from './carry.ts'
import { decodeCard } from './decode-card.ts'
import { decodeEvent, decodeResult } from './decode-result.ts'
import { encodeRequest } from './encode-request.ts'
import { methods } from './methods.ts'
import { restAsking } from './rest-asking.ts'

export const v0_3ProtoClient: ClientDialect = {
  name: 'v0.3-proto',
  version: '0.3',
  bindings: ['HTTP+JSON', 'GRPC'],
  methods,
  encodeRequest,
  decodeResult,
  decodeEvent,
  /** Servers of the Python SDK answer with the card as the JSON of 0.3 has it. */
  async lenient() {
    const { lenientReading, cleanSecurity } = await import('../lenient-card.ts')
    return lenientReading({ decodeCard, decodeResult }, (card) => cleanSecurity(card, 'security'), { carrying, carried })
  },
  rest: restAsking,
  decodeCard,
}
