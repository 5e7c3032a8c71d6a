import type { ClientDialect } from '../dialect.ts'
import { lenientCardDecoder } from '../lenient-card.ts'
import { orLeniently } from '../read.ts'
import { carried, carrying, cleanCard, decodeCard } from './card.ts'
import { decodeEvent, decodeResult } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { methods, restAsking } from './methods.ts'

const decodeLenientCard = lenientCardDecoder(decodeCard, cleanCard, { carrying, carried })

export const v1_0Client: ClientDialect = {
  name: 'v1.0',
  version: '1.0',
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
  methods,
  encodeRequest,
  decodeResult: { ...decodeResult, getExtendedCard: orLeniently(decodeCard, decodeLenientCard) },
  decodeEvent,
  decodeCard,
  decodeLenientCard,
  rest: restAsking,
}
