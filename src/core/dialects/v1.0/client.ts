import { withFallback } from '../codec.ts'
import type { ClientDialect } from '../dialect.ts'
import { decodeCard, decodeLenientCard } from './card.ts'
import { decodeEvent, decodeResult } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { grpc, methods, restClientBinding } from './methods.ts'

export const v1_0Client: ClientDialect = {
  name: 'v1.0',
  version: '1.0',
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  methods,
  grpc,
  encodeRequest,
  decodeResult: { ...decodeResult, getExtendedCard: withFallback(decodeCard, decodeLenientCard) },
  decodeEvent,
  decodeCard,
  decodeLenientCard,
  rest: restClientBinding,
}
