import type { ClientDialect } from '../dialect.ts'
import { olderWhole } from '../on-older-whole.ts'
import { seldomAsked } from '../plain-reader.ts'
import { cardDecoder } from './card-decoder.ts'
import { OpenCard } from './card-schemas.ts'
import { readingWith } from './decode-result.ts'
import { encodeRequest } from './encode-request.ts'
import { methods } from './methods.ts'
import { restAsking } from './rest-asking.ts'

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
