import type { ClientDialect, ResponseDecoder } from '../dialect.ts'
import { cleanSecurity, lenientReading } from '../lenient-card.ts'
import { olderWhole } from '../on-older-whole.ts'
import { seldomAsked } from '../plain-reader.ts'
import { cardDecoder, decodeCard } from './card.ts'
import { readingWith, seldom } from './decode.ts'
import { encodeRequest } from './encode.ts'
import { methods, restAsking } from './methods.ts'
import { carried, carrying } from './parts.ts'
import { OpenCard } from './schemas.ts'

const strictReading: ResponseDecoder = readingWith(decodeCard, seldom)

/** Servers of the Python SDK answer with the card as the JSON of 0.3 has it. */
export const v0_3ProtoWhole: ResponseDecoder = {
  ...strictReading,
  ...lenientReading(strictReading, (card) => cleanSecurity(card, 'security'), { carrying, carried }),
}

export const v0_3ProtoLight: ClientDialect = {
  name: 'v0.3-proto',
  version: '0.3',
  bindings: ['HTTP+JSON', 'GRPC'],
  methods,
  encodeRequest,
  ...readingWith(
    cardDecoder(OpenCard, () => ({})),
    seldomAsked,
  ),
  lenient: async () => (await olderWhole()).v0_3ProtoWhole,
  rest: restAsking,
}

export const v0_3ProtoClient: ClientDialect = { ...v0_3ProtoLight, ...strictReading }
