import type { ClientDialect } from '../dialect.ts'
import { olderWhole } from '../on-older-whole.ts'
import { cardDecoder } from './card-decoder.ts'
import { OpenCard } from './card-schemas.ts'
import { decodeEvent, usualResults } from './decode-result.ts'
import { encodeRequest } from './encode-request.ts'
import { methods } from './methods.ts'

export const v0_1Light: ClientDialect = {
  name: 'v0.1',
  version: '0.1',
  bindings: ['JSONRPC'],
  methods,
  encodeRequest,
  decodeResult: usualResults,
  decodeEvent,
  decodeCard: cardDecoder(OpenCard, () => ({})),
  lenient: async () => (await olderWhole()).v0_1Whole,
  errors: () => import('./decode-error.ts'),
  startsOver: true,
}
