import { withFallback } from '../codec.ts'
import type { ClientDialect } from '../dialect.ts'
import { decodeCard, decodeLenientCard } from './card.ts'
import { decodeEvent, decodeResult } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { methods, restClientBinding } from './methods.ts'

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
