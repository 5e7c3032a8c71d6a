import type { ClientDialect } from '../dialect.ts'
import { cleanSecurity, lenientCardDecoder } from '../lenient-card.ts'
import { withFallback } from '../read.ts'
import { decodeCard } from './card.ts'
import { decodeEvent, decodeResult } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { methods, restClientBinding } from './methods.ts'
import { readCarry, toCarry } from './parts.ts'

/** Servers of the Python SDK answer with the card as the JSON of 0.3 has it. */
const decodeLenientCard = lenientCardDecoder(decodeCard, (card) => cleanSecurity(card, 'security'), {
  toCarry,
  readCarry,
})

export const v0_3ProtoClient: ClientDialect = {
  name: 'v0.3-proto',
  version: '0.3',
  bindings: ['HTTP+JSON', 'GRPC'],
  methods,
  encodeRequest,
  decodeResult: { ...decodeResult, getExtendedCard: withFallback(decodeCard, decodeLenientCard) },
  decodeEvent,
  decodeCard,
  decodeLenientCard,
  rest: restClientBinding,
}
